// RMSNorm (METHOD section 3).
#pragma once

#include <ATen/core/Tensor.h>

namespace retro {

/// y = x / sqrt(mean(x^2) + epsilon) * gain over the last dimension. x [..., D], gain [D].
/// Statistics in float32 (float64 for float64 input). Differentiable in both.
at::Tensor rms_norm(const at::Tensor& input, const at::Tensor& gain, double epsilon = 1e-6);

}  // namespace retro
