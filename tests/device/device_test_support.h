// One function on the CPU in float32 and on device "cuda" (simulated, or a real one), and how far
// apart results may be.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/types.h>

#include "retro/ops/precision.h"

namespace retro::testing {

inline const at::Device kDevice{at::kCUDA, 0};

/// An input of an operation. Parameters stay float32, activations take the device's type.
struct Operand {
  std::string name;
  at::Tensor value;
  bool is_parameter = false;
};

struct Outcome {
  at::Tensor out;
  std::vector<at::Tensor> gradients;  ///< of sum(out * direction), one per operand
};

using OperandFunction = std::function<at::Tensor(const std::vector<at::Tensor>& operands)>;

/// Everything back on the CPU in float32.
inline Outcome outcome(const std::vector<Operand>& operands, at::Device device, Precision precision,
                       const OperandFunction& function) {
  std::vector<at::Tensor> inputs;
  for (const Operand& operand : operands) {
    at::Tensor input = operand.value.to(device);
    if (!operand.is_parameter) input = as_activations(input, precision);
    inputs.push_back(input.detach().requires_grad_(true));
  }
  const at::Tensor out = function(inputs);
  const at::Tensor ramp =
      torch::arange(out.numel(), torch::kFloat).mul(0.37).sin().view(out.sizes());
  const at::Tensor direction = ramp.to(out.device(), out.scalar_type());
  Outcome result{out.detach().to(at::kCPU, at::kFloat), {}};
  for (const at::Tensor& gradient : torch::autograd::grad({out}, inputs, {direction})) {
    result.gradients.push_back(gradient.to(at::kCPU, at::kFloat));
  }
  return result;
}

/// Share of the largest element. float32: sums of at most a few thousand terms in another order.
/// bfloat16: a handful of roundings of half a unit, 2^-9, one after the other.
inline double tolerance(Precision precision) {
  return precision == Precision::kFloat32 ? std::ldexp(1.0, -17) : 8 * std::ldexp(1.0, -9);
}

inline void expect_near(const at::Tensor& actual, const at::Tensor& expected, double share,
                        const std::string& what) {
  ASSERT_EQ(actual.sizes(), expected.sizes()) << what;
  if (actual.numel() == 0) return;
  ASSERT_TRUE(actual.isfinite().all().item<bool>()) << what;
  const double largest = expected.abs().max().item<double>();
  EXPECT_LE((actual - expected).abs().max().item<double>(), share * largest + 1e-7) << what;
}

/// Both precisions of the device against the CPU in float32.
inline void expect_same_on_device(const std::vector<Operand>& operands,
                                  const std::function<OperandFunction(Precision)>& function) {
  const Outcome expected =
      outcome(operands, at::kCPU, Precision::kFloat32, function(Precision::kFloat32));
  for (const Precision precision : {Precision::kFloat32, Precision::kBfloat16}) {
    SCOPED_TRACE(precision_name(precision));
    const Outcome actual = outcome(operands, kDevice, precision, function(precision));
    expect_near(actual.out, expected.out, tolerance(precision), "out");
    for (size_t i = 0; i < operands.size(); ++i) {
      expect_near(actual.gradients[i], expected.gradients[i], tolerance(precision),
                  "gradient of " + operands[i].name);
    }
  }
}

}  // namespace retro::testing
