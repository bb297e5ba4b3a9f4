// What one step of a matrix product multiplies: single elements of T, or pairs of bfloat16.
#pragma once

#include "cpu/vector.h"

namespace retro::cpu {

/// sum += a * b in T itself. A depth step is one element.
template <typename T, int Bytes>
struct NativeMultiplier {
  using Element = T;  ///< of the operands in memory
  using Packed = T;   ///< of the operands in panels
  static constexpr int kBytes = Bytes;
  static constexpr int64_t kDepthStep = 1;

  [[gnu::always_inline]] static inline Vec<T, Bytes> add(Vec<T, Bytes> sum, T a, Vec<T, Bytes> b) {
    return sum + a * b;
  }
};

}  // namespace retro::cpu
