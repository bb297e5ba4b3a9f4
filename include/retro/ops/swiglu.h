// The gated activation of Llama's feed-forward.
#pragma once

#include <ATen/core/Tensor.h>

namespace retro {

/// swiglu(gate, up) = gate / (1 + exp(-gate)) * up (arXiv 2002.05202), element by element; both of
/// one shape, float32 or float64 on the CPU.
at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up);

}  // namespace retro
