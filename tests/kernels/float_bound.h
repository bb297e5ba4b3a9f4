// What float32 may differ from float64 (docs/testing.md).
#pragma once

#include <cmath>
#include <cstdint>

namespace retro::testing {

/// The one constant of the float32 bound.
inline constexpr double kRoundingConstant = 4.0;

/// Largest difference allowed between float32 and float64 for sums of `length` terms whose absolute
/// values add up to at most `absolute_sum`.
inline double float_bound(int64_t length, double absolute_sum) {
  return kRoundingConstant * std::sqrt(static_cast<double>(length)) * std::ldexp(1.0, -24) *
         absolute_sum;
}

}  // namespace retro::testing
