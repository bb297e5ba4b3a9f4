// The comparisons of STYLE section 5.
#pragma once

#include <cmath>

#include <gtest/gtest.h>
#include <torch/types.h>

namespace retro::testing {

/// The one constant of the float32 bound.
inline constexpr double kRoundingConstant = 4.0;

/// Largest difference allowed between float32 and float64 for sums of `length` terms whose absolute
/// values add up to at most `absolute_sum`.
inline double float_bound(int64_t length, double absolute_sum) {
  return kRoundingConstant * std::sqrt(static_cast<double>(length)) * std::ldexp(1.0, -24) *
         absolute_sum;
}

inline double largest_difference(const at::Tensor& actual, const at::Tensor& expected) {
  if (actual.numel() == 0) return 0;
  return (actual.to(at::kDouble) - expected.to(at::kDouble)).abs().max().item<double>();
}

/// Shapes equal, nothing NaN, every element within `bound`.
inline void expect_close(const at::Tensor& actual, const at::Tensor& expected, double bound) {
  ASSERT_EQ(actual.sizes(), expected.sizes());
  ASSERT_TRUE(at::isfinite(actual).all().item<bool>());
  EXPECT_LE(largest_difference(actual, expected), bound);
}

inline bool identical(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && at::equal(a, b);
}

}  // namespace retro::testing
