// Rows of an embedding matrix, for tokens and for the tokens of neighbours.
#pragma once

#include <cstdint>

#include "kernels/stream.h"

namespace retro::kernels {

/// out[i] = weight[ids[i]]; an id of -1 (padding, a missing neighbour) gives zeros. Other ids
/// outside 0..vocabulary-1 are the caller's mistake and give zeros too, so that nothing else is
/// read.
template <typename T>
struct EmbeddingForwardParams {
  const T* weight = nullptr;  ///< [vocabulary, width]
  const int64_t* ids = nullptr;
  T* out = nullptr;  ///< [count, width]
  int64_t count = 0;
  int64_t vocabulary = 0;
  int64_t width = 0;
};

/// grad_weight[id] += sum over i with ids[i] == id of grad[i], in the order of i.
///
/// The caller sorts tokens by id (stably, without those of -1) and cuts the sorted list into pieces
/// of at most kEmbeddingPieceTokens that hold one id each: a frequent token is spread over many
/// blocks and the order of its sum stays fixed.
template <typename T>
struct EmbeddingBackwardParams {
  const T* grad = nullptr;                 ///< [count, width]
  const int64_t* sorted_tokens = nullptr;  ///< indices into grad
  const int64_t* piece_begins = nullptr;   ///< [pieces + 1], into sorted_tokens
  const int64_t* row_ids = nullptr;        ///< [rows], the distinct ids
  const int64_t* row_begins = nullptr;     ///< [rows + 1], into the pieces
  float* partial = nullptr;                ///< [pieces, width], scratch
  float* grad_weight = nullptr;            ///< [vocabulary, width]
  int64_t pieces = 0;
  int64_t rows = 0;
  int64_t width = 0;
};

inline constexpr int64_t kEmbeddingPieceTokens = 128;

template <typename T>
void launch_embedding_forward(const EmbeddingForwardParams<T>& params, StreamHandle stream);
template <typename T>
void launch_embedding_backward(const EmbeddingBackwardParams<T>& params, StreamHandle stream);

}  // namespace retro::kernels
