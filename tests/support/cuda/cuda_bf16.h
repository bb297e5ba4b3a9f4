// bfloat16 with the device's rounding: to nearest, ties to even; every NaN becomes 0x7fff.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

struct __nv_bfloat16_raw {
  unsigned short x;
};

struct alignas(2) __nv_bfloat16 {
  unsigned short bits;
  __nv_bfloat16() = default;
  __nv_bfloat16(__nv_bfloat16_raw raw) : bits(raw.x) {}  // NOLINT: as in the toolkit
};

struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
};

inline __nv_bfloat16 __float2bfloat16_rn(float value) {
  if (std::isnan(value)) return __nv_bfloat16_raw{0x7fff};
  const auto bits = std::bit_cast<uint32_t>(value);
  return __nv_bfloat16_raw{static_cast<unsigned short>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
}
inline float __bfloat162float(__nv_bfloat16 value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16);
}
inline __nv_bfloat162 __floats2bfloat162_rn(float low, float high) {
  return {__float2bfloat16_rn(low), __float2bfloat16_rn(high)};
}
