// Matrix products on a GPU: LibTorch's where the result is of the factors' type, cuBLAS where it
// is wider.
#pragma once

#include <ATen/core/Tensor.h>

#include "retro/ops/precision.h"

namespace retro::cuda {

/// Of both factors: bfloat16 or float32. float32 products keep float32's 24 bits (no TF32).
at::ScalarType product_type(Precision precision);

/// left x right of the products' type.
at::Tensor matrix_product(const at::Tensor& left, const at::Tensor& right, Precision precision);
/// addend + left x right, of the addend's type.
at::Tensor add_matrix_product(const at::Tensor& addend, const at::Tensor& left,
                              const at::Tensor& right, Precision precision);
/// grad_TO^T x input_TI in float32 whatever the factors' type: [out, in].
at::Tensor weight_gradient(const at::Tensor& grad_TO, const at::Tensor& input_TI,
                           Precision precision);

}  // namespace retro::cuda
