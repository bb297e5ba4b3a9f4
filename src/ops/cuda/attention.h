// Attention on a GPU, plain and over chunks.
#pragma once

#include "attention_function.h"
#include "attention_gradients.h"

namespace retro::cuda {

/// What the forward leaves for the backward.
struct AttentionForward {
  at::Tensor out;  ///< [B, N, H, A]
  at::Tensor lse;  ///< float32 [B, chunks, H, rows of an item]
};

/// Head widths the kernels have are 32, 64, 96 and 128; throws Error for others.
AttentionForward attention_forward(const AttentionTensors& tensors,
                                   const AttentionArrangement& arrangement);
AttentionGradientTensors attention_backward(const AttentionTensors& tensors,
                                            const AttentionArrangement& arrangement,
                                            const AttentionForward& forward,
                                            const at::Tensor& grad_out);

/// The tensor itself where its rows start at multiples of 16 bytes, as the kernels want it, or a
/// contiguous copy. Undefined stays undefined.
at::Tensor with_aligned_rows(const at::Tensor& tensor);

}  // namespace retro::cuda
