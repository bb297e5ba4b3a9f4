// Rotary positions on a GPU.
#pragma once

#include <ATen/core/Tensor.h>

namespace retro::cuda {

/// x [..., N, H, A] contiguous; cos_NF, sin_NF float32. `direction` -1 turns back.
at::Tensor rotated(const at::Tensor& x, const at::Tensor& cos_NF, const at::Tensor& sin_NF,
                   int direction);

}  // namespace retro::cuda
