// Rotary positions: pairs of features turned by an angle (arXiv 2104.09864).
#pragma once

#include <ATen/core/Tensor.h>

namespace retro {

/// x [..., N, H, A]; cos_NF, sin_NF [N, A/2] of x's type (float32 where it is bfloat16). Feature j
/// of a head is paired with j + A/2: y_j = x_j cos_j - x_{j+F} sin_j, y_{j+F} = x_{j+F} cos_j + x_j
/// sin_j. float32 and float64; differentiable in x. Throws Error naming a shape that does not fit.
at::Tensor rotate_pairs(const at::Tensor& x_NHA, const at::Tensor& cos_NF,
                        const at::Tensor& sin_NF);

}  // namespace retro
