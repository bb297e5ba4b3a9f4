// Embedding rows on a GPU.
#pragma once

#include <ATen/core/Tensor.h>

namespace retro::cuda {

/// out_TD [T, D] <- rows of weight_VD, float32. Ids outside 0..V-1 give zeros.
void embedding_forward(const at::Tensor& weight_VD, const at::Tensor& ids_T,
                       const at::Tensor& out_TD);

/// grad_VD += the rows of grad_TD that have its id, each row's in their order.
void embedding_backward(const at::Tensor& grad_TD, const at::Tensor& ids_T,
                        const at::Tensor& grad_VD);

/// Tokens sorted by id and cut into pieces of one id each (kernels/embedding.h).
struct EmbeddingPieces {
  at::Tensor sorted_tokens;
  at::Tensor piece_begins;
  at::Tensor row_ids;
  at::Tensor row_begins;
};
/// Made on the ids' device; ids outside 0..vocabulary-1 are left out.
EmbeddingPieces cut_pieces(const at::Tensor& ids_T, int64_t vocabulary, int64_t piece_tokens);

}  // namespace retro::cuda
