// Output projection and cross-entropy on a GPU.
#pragma once

#include <ATen/core/Tensor.h>

#include "retro/ops/precision.h"

namespace retro::cuda {

/// Undefined gradients were not asked for.
struct LossesAndGradients {
  at::Tensor losses_T;  ///< float32: -log softmax(hidden W^T)[target], of tokens of weight 0 too
  at::Tensor grad_TD;   ///< of sum(token_weight * loss), in the products' type
  at::Tensor grad_VD;   ///< float32
};

struct LossOperands {
  at::Tensor hidden_TD;
  at::Tensor weight_VD;
  at::Tensor target_T;
  at::Tensor token_weight_T;  ///< float32; undefined: no gradients
  Precision precision = Precision::kFloat32;
  bool needs_weight_gradient = false;  ///< one of three products, and float32 of the weight's size
};

/// hidden_TD and weight_VD are rounded to the products' type. Targets outside the vocabulary are
/// the caller's mistake and give losses that mean nothing: to look for them would mean to wait for
/// the device.
LossesAndGradients linear_cross_entropy(const LossOperands& operands);

}  // namespace retro::cuda
