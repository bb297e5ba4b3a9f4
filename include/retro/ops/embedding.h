// Rows of an embedding matrix.
#pragma once

#include <ATen/core/Tensor.h>

namespace retro {

/// weight_VD [V, D], ids int64 of any shape -> [..., D]. An id of -1 (padding) gives a row of zeros
/// and no gradient; any other id outside 0..V-1 is an Error on the CPU and like padding on a GPU.
/// The gradient sums each row's tokens in their order, whatever the threads.
at::Tensor embed_tokens(const at::Tensor& weight_VD, const at::Tensor& ids);

}  // namespace retro
