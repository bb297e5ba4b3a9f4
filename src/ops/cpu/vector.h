// SIMD vectors as GCC vector types: one source, compiled once per instruction set.
//
// Every template of this folder carries the vector size in bytes, so that the copies compiled for
// AVX2 and for AVX-512 are different symbols and the linker cannot hand one machine's code to
// another.
#pragma once

#include <cstdint>

namespace retro::cpu {

/// `Bytes` wide vector of T; `loose` may stand at any element's address.
template <typename T, int Bytes>
struct Vector {
  typedef T type __attribute__((vector_size(Bytes)));
  typedef T loose __attribute__((vector_size(Bytes), aligned(alignof(T)), may_alias));
  static constexpr int64_t kLanes = Bytes / static_cast<int64_t>(sizeof(T));
};

template <typename T, int Bytes>
using Vec = typename Vector<T, Bytes>::type;

template <typename T, int Bytes>
[[gnu::always_inline]] inline Vec<T, Bytes> load(const T* from) {
  return *reinterpret_cast<const typename Vector<T, Bytes>::loose*>(from);
}

template <typename T, int Bytes>
[[gnu::always_inline]] inline void store(T* to, Vec<T, Bytes> value) {
  *reinterpret_cast<typename Vector<T, Bytes>::loose*>(to) = value;
}

template <typename T, int Bytes>
[[gnu::always_inline]] inline Vec<T, Bytes> splat(T value) {
  return Vec<T, Bytes>{} + value;
}

/// The last `count` elements of an array in a full vector, so that every element sees the same
/// arithmetic.
template <typename T, int Bytes>
[[gnu::always_inline]] inline Vec<T, Bytes> load_part(const T* from, int64_t count, T rest = T(0)) {
  Vec<T, Bytes> value = splat<T, Bytes>(rest);
  for (int64_t i = 0; i < count; ++i) value[i] = from[i];
  return value;
}

template <typename T, int Bytes>
[[gnu::always_inline]] inline void store_part(T* to, Vec<T, Bytes> value, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = value[i];
}

/// Sum of the lanes, by halves (a fixed order).
template <typename T, int Bytes>
[[gnu::always_inline]] inline T sum_lanes(Vec<T, Bytes> value) {
  T lanes[Vector<T, Bytes>::kLanes];
  store<T, Bytes>(lanes, value);
#pragma GCC unroll 8
  for (int64_t half = Vector<T, Bytes>::kLanes / 2; half > 0; half /= 2) {
#pragma GCC unroll 16
    for (int64_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

template <typename T, int Bytes>
[[gnu::always_inline]] inline T max_lane(Vec<T, Bytes> value) {
  T lanes[Vector<T, Bytes>::kLanes];
  store<T, Bytes>(lanes, value);
#pragma GCC unroll 8
  for (int64_t half = Vector<T, Bytes>::kLanes / 2; half > 0; half /= 2) {
#pragma GCC unroll 16
    for (int64_t i = 0; i < half; ++i) {
      lanes[i] = lanes[i] > lanes[i + half] ? lanes[i] : lanes[i + half];
    }
  }
  return lanes[0];
}

template <typename T, int Bytes>
[[gnu::always_inline]] inline Vec<T, Bytes> larger(Vec<T, Bytes> a, Vec<T, Bytes> b) {
  return a > b ? a : b;
}

[[gnu::always_inline]] constexpr inline int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace retro::cpu
