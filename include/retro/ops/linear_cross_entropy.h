// Output projection and cross-entropy in one, over tiles of tokens: the full logits never exist.
#pragma once

#include <ATen/core/Tensor.h>

#include "retro/ops/precision.h"

namespace retro {

/// Sum over tokens with weight of -log softmax(hidden W^T)[target] * weight. hidden_TD [T, D],
/// weight_VD [V, D], target_T int64, token_weight_T (same dtype as hidden, float32 where that is
/// bfloat16; 0 skips the token entirely). Scalar; gradients for hidden and weight are formed tile
/// by tile in the forward (only when they are needed).
at::Tensor linear_cross_entropy(const at::Tensor& hidden_TD, const at::Tensor& weight_VD,
                                const at::Tensor& target_T, const at::Tensor& token_weight_T,
                                Precision precision);

/// -log softmax(hidden W^T)[target] per token, float32 [T]; 0 where mask_T is false. No gradient.
at::Tensor token_losses(const at::Tensor& hidden_TD, const at::Tensor& weight_VD,
                        const at::Tensor& target_T, const at::Tensor& mask_T, Precision precision);

}  // namespace retro
