// Transposes a square of vectors in registers.
#pragma once

#include "cpu/vector.h"

namespace retro::cpu {

/// Integer lanes of the width of T, for shuffles.
template <typename T>
struct LaneIndex {
  using type = int32_t;
};
template <>
struct LaneIndex<double> {
  using type = int64_t;
};

template <typename T, int Bytes>
struct Interleave {
  using I = typename LaneIndex<T>::type;
  static constexpr int64_t kLanes = Vector<T, Bytes>::kLanes;

  /// (a0, b0, a1, b1, ...) of the lower or the upper halves.
  template <bool kUpper>
  [[gnu::always_inline]] static inline Vec<T, Bytes> of(Vec<T, Bytes> a, Vec<T, Bytes> b) {
    Vec<I, Bytes> order{};
#pragma GCC unroll 16
    for (int64_t i = 0; i < kLanes; ++i) {
      order[i] = static_cast<I>(i / 2 + i % 2 * kLanes + (kUpper ? kLanes / 2 : 0));
    }
    return __builtin_shuffle(a, b, order);
  }
};

/// rows[i][j] <-> rows[j][i]: log2(lanes) rounds of a perfect shuffle.
template <typename T, int Bytes>
[[gnu::always_inline]] inline void transpose(Vec<T, Bytes>* rows) {
  constexpr int64_t kLanes = Vector<T, Bytes>::kLanes;
#pragma GCC unroll 4
  for (int64_t round = 1; round < kLanes; round *= 2) {
    Vec<T, Bytes> next[kLanes];
#pragma GCC unroll 8
    for (int64_t i = 0; i < kLanes / 2; ++i) {
      next[2 * i] = Interleave<T, Bytes>::template of<false>(rows[i], rows[i + kLanes / 2]);
      next[2 * i + 1] = Interleave<T, Bytes>::template of<true>(rows[i], rows[i + kLanes / 2]);
    }
#pragma GCC unroll 16
    for (int64_t i = 0; i < kLanes; ++i) rows[i] = next[i];
  }
}

}  // namespace retro::cpu
