// The feed-forward block's activation (METHOD section 3).
#pragma once

#include <ATen/core/Tensor.h>

namespace retro {

/// gelu_tanh(x) = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), element by element, any shape,
/// float32 or
/// float64; on a GPU float32 or bfloat16.
at::Tensor gelu_tanh(const at::Tensor& input);

}  // namespace retro
