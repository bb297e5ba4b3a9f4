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

/// hidden_TD and weight_VD are rounded to the products' type; token_weight_T float32, undefined: no
/// gradients. Targets outside the vocabulary are the caller's mistake and give losses that mean
/// nothing: to look for them would mean to wait for the device.
LossesAndGradients linear_cross_entropy(const at::Tensor& hidden_TD, const at::Tensor& weight_VD,
                                        const at::Tensor& target_T,
                                        const at::Tensor& token_weight_T, Precision precision);

}  // namespace retro::cuda
