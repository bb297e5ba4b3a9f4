// Powers of two over vectors.
#pragma once

#include <cmath>
#include <limits>

#include "cpu/vector.h"

namespace retro::cpu {

/// 2^x for x <= about 127, within 2 units in the last place; below -126 (and for -infinity) exactly
/// 0; NaN stays NaN. The fraction in [-1/2, 1/2] goes through a Taylor-Chebyshev polynomial of
/// degree 6 (relative error under 2^-27), the integer part into the exponent bits.
template <int Bytes>
[[gnu::always_inline]] inline Vec<float, Bytes> exp2(Vec<float, Bytes> x) {
  using V = Vec<float, Bytes>;
  using I = Vec<int32_t, Bytes>;
  const V shift = splat<float, Bytes>(12582912.0F);  // 1.5 * 2^23: adding it rounds to an integer
  const I is_tiny = x < splat<float, Bytes>(-126.0F);
  const V safe = is_tiny ? splat<float, Bytes>(-126.0F) : x;
  const V shifted = safe + shift;
  const V fraction = safe - (shifted - shift);
  V p = splat<float, Bytes>(1.5403530e-4F);
  p = p * fraction + 1.3333558e-3F;
  p = p * fraction + 9.6181291e-3F;
  p = p * fraction + 5.5504109e-2F;
  p = p * fraction + 2.4022651e-1F;
  p = p * fraction + 6.9314718e-1F;
  p = p * fraction + 1.0F;
  const I bits = reinterpret_cast<I>(p) + (reinterpret_cast<I>(shifted) << 23);
  return is_tiny ? V{} : reinterpret_cast<V>(bits);
}

/// The float64 twin, for gradient checks: exact, lane by lane.
template <int Bytes>
[[gnu::always_inline]] inline Vec<double, Bytes> exp2(Vec<double, Bytes> x) {
  Vec<double, Bytes> y{};
  for (int64_t i = 0; i < Vector<double, Bytes>::kLanes; ++i) y[i] = ::exp2(x[i]);
  return y;
}

template <typename T>
[[gnu::always_inline]] inline T minus_infinity() {
  return -std::numeric_limits<T>::infinity();
}

}  // namespace retro::cpu
