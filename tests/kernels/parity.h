// Types of the parity tests and what may be expected of them (docs/testing.md).
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "float_bound.h"

namespace retro::testing {

/// How an element type comes from double and goes back; bfloat16_values.h has the other one.
template <typename T>
struct Element;
template <>
struct Element<float> {
  static float from(double value) { return static_cast<float>(value); }
  static double widen(float value) { return value; }
};

template <typename T>
double to_double(T value) {
  return Element<T>::widen(value);
}
template <typename T>
T from_double(double value) {
  return Element<T>::from(value);
}

/// The nearest value that T has.
template <typename T>
double round_to(double value) {
  return to_double(from_double<T>(value));
}

template <typename T>
std::vector<T> converted(const std::vector<double>& values) {
  std::vector<T> result;
  result.reserve(values.size());
  for (const double value : values) result.push_back(from_double<T>(value));
  return result;
}

template <typename T>
std::vector<double> to_doubles(const std::vector<T>& values) {
  std::vector<double> result;
  result.reserve(values.size());
  for (const T value : values) result.push_back(to_double(value));
  return result;
}

/// Largest difference; infinity where something is not finite or sizes differ.
inline double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i]))
      return std::numeric_limits<double>::infinity();
    largest = std::max(largest, std::abs(a[i] - b[i]));
  }
  return largest;
}

inline double largest_absolute(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

/// bfloat16: at most `factor` times the error that plain code has (2, gradients 3), on top of what
/// float32 sums of these terms cannot avoid (plain code is exact where a weight is exactly 1).
inline void expect_within_plain_error(const std::vector<double>& actual,
                                      const std::vector<double>& plain,
                                      const std::vector<double>& exact, double factor,
                                      double float_error, const std::string& what) {
  EXPECT_LE(largest_difference(actual, exact),
            factor * largest_difference(plain, exact) + float_error)
      << what;
}

}  // namespace retro::testing
