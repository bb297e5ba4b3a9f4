// Gradients against float64 central differences.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <ATen/ops/randn_like.h>
#include <ATen/ops/randperm.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/types.h>

namespace retro::testing {

struct GradientInput {
  std::string name;
  at::Tensor value;  ///< float64; the function reads it where it is
};

/// Compares d sum(function() * R) / d input (R random) with central differences at up to `samples`
/// elements of each input: 1e-6 relative, floor 1e-8 (docs/testing.md).
inline void expect_gradients(std::vector<GradientInput> inputs,
                             const std::function<at::Tensor()>& function, int64_t samples = 48) {
  constexpr double kStep = 1e-5;
  torch::autograd::variable_list variables;
  for (GradientInput& input : inputs) {
    input.value.requires_grad_(true);
    variables.push_back(input.value);
  }
  const at::Tensor out = function();
  const at::Tensor direction = at::randn_like(out);
  const auto gradients = torch::autograd::grad({out}, variables, {direction});
  const at::NoGradGuard no_grad;
  const auto objective = [&] { return (function() * direction).sum().item<double>(); };
  for (size_t n = 0; n < inputs.size(); ++n) {
    double* data = inputs[n].value.mutable_data_ptr<double>();
    ASSERT_TRUE(inputs[n].value.is_contiguous()) << inputs[n].name;
    const at::Tensor gradient = gradients[n].contiguous();
    const int64_t count = inputs[n].value.numel();
    const at::Tensor order = at::randperm(count, at::kLong);
    for (int64_t s = 0; s < std::min(count, samples); ++s) {
      const int64_t index = order[s].item<int64_t>();
      const double kept = data[index];
      data[index] = kept + kStep;
      const double above = objective();
      data[index] = kept - kStep;
      const double below = objective();
      data[index] = kept;
      const double numeric = (above - below) / (2 * kStep);
      const double analytic = gradient.const_data_ptr<double>()[index];
      const double bound = 1e-6 * std::max(std::abs(numeric), std::abs(analytic)) + 1e-8;
      EXPECT_NEAR(analytic, numeric, bound) << inputs[n].name << "[" << index << "]";
    }
  }
}

}  // namespace retro::testing
