// The feed-forward block in one operation (METHOD section 3).
#pragma once

#include <ATen/core/Tensor.h>

#include "retro/ops/precision.h"

namespace retro {

/// residual + down(gelu_tanh(up(input))): input and residual [..., D] (residual may be undefined),
/// up_FD [F, D], down_DF [D, F]. Equal to linear, gelu_tanh and linear one after the other, but the
/// activations [..., F] stay in the caches; only up(input) is kept for the backward, and not even
/// that where no gradient is wanted.
at::Tensor feed_forward(const at::Tensor& residual, const at::Tensor& input,
                        const at::Tensor& up_FD, const at::Tensor& down_DF, Precision precision);

}  // namespace retro
