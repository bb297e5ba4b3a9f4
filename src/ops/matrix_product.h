// Matrix products in a chosen precision, without autograd.
#pragma once

#include <ATen/core/Tensor.h>

#include "retro/ops/precision.h"

namespace retro {

/// left [M, K] x right [K, N] -> [M, N] of left's type. In bfloat16 both are rounded to bfloat16
/// first; float64 ignores `precision`.
at::Tensor matrix_product(const at::Tensor& left, const at::Tensor& right, Precision precision);

/// out += left x right.
void add_matrix_product(const at::Tensor& out, const at::Tensor& left, const at::Tensor& right,
                        Precision precision);

}  // namespace retro
