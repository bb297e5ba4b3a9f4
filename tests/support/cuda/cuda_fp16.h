// IEEE half precision with the device's rounding: to nearest, ties to even; every NaN becomes
// 0x7fff.
#pragma once

#include <cmath>

#include <immintrin.h>

struct alignas(2) __half {
  unsigned short bits;
};

inline __half __float2half_rn(float value) {
  if (std::isnan(value)) return {0x7fff};
  return {_cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT)};
}
inline float __half2float(__half value) { return _cvtsh_ss(value.bits); }
