// Matrix products of tensors in a chosen precision, without autograd.
#pragma once

#include <ATen/core/Tensor.h>

#include "retro/ops/precision.h"

namespace retro {

/// out [M, N] <- addend + left [M, K] x right [K, N]; out and addend (undefined: none; may be out
/// itself) have contiguous rows. In bfloat16 both factors are rounded to bfloat16 first and the
/// sums are float32; float64 ignores `precision`. CPU tensors.
void multiply_matrices(const at::Tensor& out, const at::Tensor& left, const at::Tensor& right,
                       Precision precision, const at::Tensor& addend = {});

/// left x right, of left's type.
at::Tensor matrix_product(const at::Tensor& left, const at::Tensor& right, Precision precision);

}  // namespace retro
