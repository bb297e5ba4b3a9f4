// float32 vectors kept in memory as bfloat16, and everything else kept as it is.
#pragma once

#include "cpu/cross_entropy_types.h"
#include "cpu/vector.h"

namespace retro::cpu {

[[gnu::always_inline]] inline float widened(Bfloat16 value) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(value.bits) << 16);
}
[[gnu::always_inline]] inline float widened(float value) { return value; }
[[gnu::always_inline]] inline double widened(double value) { return value; }

template <int Bytes>
struct Bfloat16Vector {
  static constexpr int kHalf = Bytes / 2;
  using Wide = typename Vector<float, Bytes>::type;
  using WideBits = Vec<uint32_t, Bytes>;
  using Bits = Vec<uint16_t, kHalf>;
};

template <typename T, int Bytes>
[[gnu::always_inline]] inline Vec<T, Bytes> load_as(const T* from) {
  return load<T, Bytes>(from);
}
template <typename T, int Bytes>
[[gnu::always_inline]] inline Vec<float, Bytes> load_as(const Bfloat16* from) {
  using B = Bfloat16Vector<Bytes>;
  const auto bits = load<uint16_t, B::kHalf>(&from->bits);
  return reinterpret_cast<typename B::Wide>(__builtin_convertvector(bits, typename B::WideBits)
                                            << 16);
}

template <typename T, int Bytes>
[[gnu::always_inline]] inline void store_as(T* to, Vec<T, Bytes> value) {
  store<T, Bytes>(to, value);
}
/// Rounded to nearest, ties to even. No NaN comes here.
template <typename T, int Bytes>
[[gnu::always_inline]] inline void store_as(Bfloat16* to, Vec<float, Bytes> value) {
  using B = Bfloat16Vector<Bytes>;
  const auto wide = reinterpret_cast<typename B::WideBits>(value);
  const typename B::WideBits rounded = (wide + 0x7FFFU + ((wide >> 16) & 1U)) >> 16;
  store<uint16_t, B::kHalf>(&to->bits, __builtin_convertvector(rounded, typename B::Bits));
}

template <typename T, int Bytes, typename Stored>
[[gnu::always_inline]] inline void store_part_as(Stored* to, Vec<T, Bytes> value, int64_t count) {
  Stored lanes[Vector<T, Bytes>::kLanes];
  store_as<T, Bytes>(lanes, value);
  for (int64_t i = 0; i < count; ++i) to[i] = lanes[i];
}

}  // namespace retro::cpu
