// Chunked cross-attention (METHOD section 3) as an arrangement of relative attention: the shift by
// m - 1 is where an item's rows begin, and nothing is copied.
#pragma once

#include "kernels/relative_attention.h"

namespace retro::kernels {

/// Position p >= m - 1 attends to the neighbours of chunk floor((p - (m - 1)) / m). Queries,
/// outputs and their gradients are [batch, length, heads, width]: `row_stride` by position,
/// chunk_stride unused. Keys and values are [batch, chunk, k * r, key_heads, width].
struct ChunkGeometry {
  int64_t length = 0;            ///< n, positions
  int64_t chunk_length = 0;      ///< m
  int64_t retrieved_length = 0;  ///< r
};

/// Rewrites `params`, whose views are as above and whose batches, keys, heads, key_heads, width,
/// distances and first_distance are set, into items of one chunk each. row_is_active is [batch,
/// length].
template <typename T>
AttentionParams<T> arrange_chunks(const AttentionParams<T>& params, const ChunkGeometry& geometry);

/// The view of a tensor [batch, length, heads, width] by chunk: row i of chunk u is position
/// u m + m - 1 + i.
template <typename T>
AttentionView<T> chunk_rows(AttentionView<T> view, int64_t chunk_length) {
  if (view.data != nullptr) view.data += (chunk_length - 1) * view.row_stride;
  view.chunk_stride = chunk_length * view.row_stride;
  return view;
}

/// `params` and `params.forward` as for arrange_chunks. Positions without a chunk give exactly 0;
/// the forward's lse is [batches, chunks, heads, chunk_length].
template <typename T>
void launch_chunked_cross_attention_forward(const AttentionParams<T>& params,
                                            const ChunkGeometry& geometry, StreamHandle stream);
template <typename T>
void launch_chunked_cross_attention_backward(const AttentionBackwardParams<T>& params,
                                             const ChunkGeometry& geometry, StreamHandle stream);

}  // namespace retro::kernels
