// y = x W^T with matrix products in a chosen precision.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "retro/ops/precision.h"

namespace retro {

/// input [..., in], weight [out, in] -> [..., out]. In bfloat16 both operands are rounded to
/// bfloat16 and the output is widened to float32; gradients likewise (weight gradients accumulate
/// in float32). float64 ignores `precision`. On a GPU the output stays bfloat16, as the input may
/// be; weights and their gradients are float32.
at::Tensor linear(const at::Tensor& input, const at::Tensor& weight, Precision precision);

/// linear(input, weights[i], precision) for every i: the input's gradient is one sum, formed in
/// place.
std::vector<at::Tensor> linear_group(const at::Tensor& input,
                                     const std::vector<at::Tensor>& weights, Precision precision);

/// residual + linear(input, weight, precision), the sum formed inside the product. residual [...,
/// out].
at::Tensor linear_add(const at::Tensor& residual, const at::Tensor& input, const at::Tensor& weight,
                      Precision precision);

}  // namespace retro
