// The comparisons of docs/testing.md.
#pragma once

#include <limits>

#include <gtest/gtest.h>
#include <torch/types.h>

#include "kernels/float_bound.h"

namespace retro::testing {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

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
