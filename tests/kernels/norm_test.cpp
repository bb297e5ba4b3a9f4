// RMSNorm and rotary positions: kernels on the test's device against float64 loops.
#include <random>

#include <gtest/gtest.h>

#include "attention_case.h"
#include "bfloat16_values.h"
#include "kernels/rms_norm.h"
#include "kernels/rotary.h"
#include "parity.h"
#include "test_device.h"

namespace retro::testing {
namespace {

template <typename T>
class NormParity : public ::testing::Test {};
using ElementTypes = ::testing::Types<float, __nv_bfloat16>;
TYPED_TEST_SUITE(NormParity, ElementTypes);

struct NormCase {
  int64_t rows, width, stride;
  Values input, gain, grad;
};

template <typename T>
NormCase norm_case(int64_t rows, int64_t width, int64_t padding) {
  std::mt19937_64 random(5);
  NormCase c{rows, width, width + padding, {}, {}, {}};
  c.input = random_values(rows * c.stride, 2.0, random, round_to<T>);
  c.gain = random_values(width, 1.0, random, round_to<float>);
  c.grad = random_values(rows * width, 1.0, random, round_to<T>);
  return c;
}

struct NormOutputs {
  Values output, grad_input, grad_gain;
  double largest_terms = 0;  ///< sum of the absolute terms of grad_input
};

/// y = x s g with s = 1 / sqrt(mean(x^2) + epsilon), and the derivative of that.
NormOutputs norm_oracle(const NormCase& c, double epsilon) {
  NormOutputs result;
  result.grad_gain.assign(static_cast<size_t>(c.width), 0.0);
  for (int64_t t = 0; t < c.rows; ++t) {
    const double* x = &c.input[static_cast<size_t>(t * c.stride)];
    const double* dy = &c.grad[static_cast<size_t>(t * c.width)];
    double squares = 0, product = 0, absolute_product = 0;
    for (int64_t d = 0; d < c.width; ++d) {
      squares += x[d] * x[d];
      product += dy[d] * c.gain[static_cast<size_t>(d)] * x[d];
      absolute_product += std::abs(dy[d] * c.gain[static_cast<size_t>(d)] * x[d]);
    }
    const double width = static_cast<double>(c.width);
    const double s = 1.0 / std::sqrt(squares / width + epsilon);
    for (int64_t d = 0; d < c.width; ++d) {
      const auto at = static_cast<size_t>(d);
      result.output.push_back(x[d] * s * c.gain[at]);
      result.grad_input.push_back(s * dy[d] * c.gain[at] - x[d] * s * s * s * product / width);
      result.grad_gain[at] += dy[d] * x[d] * s;
      result.largest_terms =
          std::max(result.largest_terms, s * std::abs(dy[d] * c.gain[at]) +
                                             std::abs(x[d]) * s * s * s * absolute_product / width);
    }
  }
  return result;
}

template <typename T>
NormOutputs run_norm(const NormCase& c, float epsilon) {
  Buffer<T> input("input", converted<T>(c.input));
  Buffer<float> gain("gain", converted<float>(c.gain));
  Buffer<T> grad("grad", converted<T>(c.grad));
  Buffer<T> output("output", c.grad.size());
  Buffer<T> grad_input("grad_input", c.grad.size());
  Buffer<float> inverse_rms("inverse_rms", static_cast<size_t>(c.rows));
  Buffer<float> grad_gain("grad_gain", c.gain.size());
  Buffer<float> partial("partial", static_cast<size_t>(kernels::rms_norm_slices(c.rows) * c.width));
  launch_rms_norm_forward(
      kernels::RmsNormForwardParams<T>{input.data(), c.stride, gain.data(), output.data(),
                                       inverse_rms.data(), c.rows, c.width, epsilon},
      nullptr);
  launch_rms_norm_backward(
      kernels::RmsNormBackwardParams<T>{input.data(), c.stride, gain.data(), inverse_rms.data(),
                                        grad.data(), grad_input.data(), grad_gain.data(),
                                        partial.data(), c.rows, c.width},
      nullptr);
  NormOutputs result;
  result.output = to_doubles(output.values());
  result.grad_input = to_doubles(grad_input.values());
  result.grad_gain = to_doubles(grad_gain.values());
  return result;
}

/// One rounding of the result to T on top of float32's bound.
template <typename T>
double stored_bound(double bound, const Values& exact) {
  return bound + (sizeof(T) == 2 ? std::ldexp(largest_absolute(exact), -8) : 0.0);
}

TYPED_TEST(NormParity, MatchesTheDefinition) {
  for (const int64_t rows : {1, 33, 70}) {
    for (const int64_t width : {1, 7, 31, 32, 33, 264, 2056}) {
      for (const int64_t padding : {0, 3}) {
        const NormCase c = norm_case<TypeParam>(rows, width, padding);
        const NormOutputs exact = norm_oracle(c, 1e-6);
        const NormOutputs actual = run_norm<TypeParam>(c, 1e-6f);
        const double largest = largest_absolute(exact.output) + 1.0;
        SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(width));
        EXPECT_LE(largest_difference(actual.output, exact.output),
                  stored_bound<TypeParam>(float_bound(width, largest), exact.output));
        EXPECT_LE(
            largest_difference(actual.grad_input, exact.grad_input),
            stored_bound<TypeParam>(float_bound(width, exact.largest_terms), exact.grad_input));
        EXPECT_LE(largest_difference(actual.grad_gain, exact.grad_gain),
                  float_bound(rows + width, largest_absolute(c.grad) * static_cast<double>(rows)));
      }
    }
  }
}

TEST(RmsNormKernel, WorkedByHand) {
  // Mean square of (3, 4, 0, 5) is 12.5; with epsilon 3.5 the root is 4.
  const NormCase c{1, 4, 4, {3, 4, 0, 5}, {1, 2, 3, -4}, {0, 0, 0, 0}};
  EXPECT_EQ(run_norm<float>(c, 3.5f).output, (Values{0.75, 2.0, 0.0, -5.0}));
}

TEST(RmsNormKernel, NoRows) {
  const NormOutputs outputs = run_norm<float>({0, 3, 3, {}, {1, 1, 1}, {}}, 1e-6f);
  EXPECT_EQ(outputs.grad_gain, (Values{0.0, 0.0, 0.0}));
}

/// Angles of rows x width / 2 pairs.
template <typename T>
Values turn(const Values& input, const Values& angles, const kernels::RotaryParams<T>& shape) {
  Values cosines, sines;
  for (const double angle : angles) {
    cosines.push_back(std::cos(angle));
    sines.push_back(std::sin(angle));
  }
  Buffer<T> in("in", converted<T>(input));
  Buffer<T> out("out", input.size());
  Buffer<float> cosine_table("cosines", converted<float>(cosines));
  Buffer<float> sine_table("sines", converted<float>(sines));
  kernels::RotaryParams<T> params = shape;
  params.input = in.data();
  params.output = out.data();
  params.cosines = cosine_table.data();
  params.sines = sine_table.data();
  launch_rotary(params, nullptr);
  return to_doubles(out.values());
}

TYPED_TEST(NormParity, RotaryTurnsPairs) {
  kernels::RotaryParams<TypeParam> shape;
  shape.batch = 2;
  shape.rows = 7;
  shape.heads = 3;
  shape.width = 64;
  const auto half = static_cast<size_t>(shape.width / 2);
  std::mt19937_64 random(6);
  const Values input = random_values(shape.batch * shape.rows * shape.heads * shape.width, 1.0,
                                     random, round_to<TypeParam>);
  const Values angles =
      random_values(shape.rows * shape.width / 2, 100.0, random, [](double x) { return x; });
  Values expected = input;
  for (size_t head = 0; head < static_cast<size_t>(shape.batch * shape.rows * shape.heads);
       ++head) {
    for (size_t i = 0; i < half; ++i) {
      const size_t row = head / static_cast<size_t>(shape.heads) % static_cast<size_t>(shape.rows);
      const double angle = angles[row * half + i];
      const size_t x = head * 2 * half + i, y = x + half;
      expected[x] = input[x] * std::cos(angle) - input[y] * std::sin(angle);
      expected[y] = input[y] * std::cos(angle) + input[x] * std::sin(angle);
    }
  }
  const Values turned = turn<TypeParam>(input, angles, shape);
  const double bound = float_bound(2, 2.0 * largest_absolute(input));
  EXPECT_LE(largest_difference(turned, expected), stored_bound<TypeParam>(bound, expected));
  shape.is_inverse = true;
  const Values back = turn<TypeParam>(turned, angles, shape);
  EXPECT_LE(largest_difference(back, input), 2.0 * stored_bound<TypeParam>(bound, expected));
}

}  // namespace
}  // namespace retro::testing
