// Matrix products of tensors in a chosen precision, without autograd.
#pragma once

#include <ATen/core/Tensor.h>

#include "retro/ops/precision.h"

namespace retro {

/// out [M, N] <- addend + left [M, K] x right [K, N]; out and addend (undefined: none; may be out
/// itself) have contiguous rows. In bfloat16 both factors are rounded to bfloat16 first and the
/// sums are float32. Where LibTorch forms the product (a CPU with AMX, or without bfloat16 dot
/// products) it is rounded to bfloat16 too, before the addend. float64 ignores `precision`. CPU
/// tensors.
void multiply_matrices(const at::Tensor& out, const at::Tensor& left, const at::Tensor& right,
                       Precision precision, const at::Tensor& addend = {});

/// left x right, of left's type on the CPU and of the products' type on a GPU.
at::Tensor matrix_product(const at::Tensor& left, const at::Tensor& right, Precision precision);
/// addend + left x right, of the addend's type.
at::Tensor add_matrix_product(const at::Tensor& addend, const at::Tensor& left,
                              const at::Tensor& right, Precision precision);
/// sum += left x right; an undefined sum becomes the product.
void accumulate_product(at::Tensor& sum, const at::Tensor& left, const at::Tensor& right,
                        Precision precision);
/// grad_TO^T x input_TI, [out, in]: a weight's gradient, of the weight's type.
at::Tensor weight_gradient(const at::Tensor& grad_TO, const at::Tensor& input_TI,
                           Precision precision);

}  // namespace retro
