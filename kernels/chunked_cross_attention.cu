#include <algorithm>

#include "kernels/chunked_cross_attention.h"
#include "kernels/dtype.cuh"

namespace retro::kernels {

namespace {

constexpr int kThreads = 128;

template <typename T>
struct ZeroRowsParams {
  AttentionView<T> view;
  int64_t rows;
  int64_t heads;
  int64_t width;
};

/// A block a row of one head.
template <typename T>
__global__ void __launch_bounds__(kThreads) zero_rows(ZeroRowsParams<T> params) {
  const int64_t head = blockIdx.x % params.heads;
  const int64_t row = blockIdx.x / params.heads % params.rows;
  const int64_t b = blockIdx.x / params.heads / params.rows;
  const GlobalPointer<T> out =
      global(params.view.data) + (b * params.view.batch_stride + row * params.view.row_stride +
                                  head * params.view.head_stride);
  for (int64_t a = threadIdx.x; a < params.width; a += kThreads) out[a] = from_float<T>(0.0f);
}

/// Positions 0..m-2 of every sequence (all of it where it is shorter than a chunk).
template <typename T>
void zero_first_rows(const AttentionView<T>& view, const AttentionParams<T>& params,
                     const ChunkGeometry& geometry, StreamHandle stream) {
  const int64_t rows = std::min(geometry.chunk_length - 1, geometry.length);
  const int64_t blocks = params.batches * rows * params.heads;
  if (blocks == 0) return;
  launch(&zero_rows<T>, dim3(static_cast<unsigned>(blocks)), dim3(kThreads), 0, stream,
         ZeroRowsParams<T>{view, rows, params.heads, params.width});
}

}  // namespace

template <typename T>
AttentionParams<T> arrange_chunks(const AttentionParams<T>& params, const ChunkGeometry& geometry) {
  const int64_t m = geometry.chunk_length;
  AttentionParams<T> chunked = params;
  chunked.chunks = geometry.length / m;
  chunked.rows = m;
  chunked.last_rows = std::min(m, geometry.length - chunked.chunks * m + 1);
  chunked.query = chunk_rows(params.query, m);
  chunked.out = chunk_rows(params.out, m);
  chunked.row_is_active = chunk_rows(params.row_is_active, m);
  chunked.is_causal = false;
  chunked.distance_offset = m - 1;
  chunked.key_period = geometry.retrieved_length;
  return chunked;
}

template <typename T>
void launch_chunked_cross_attention_forward(const AttentionParams<T>& params,
                                            const ChunkGeometry& geometry, StreamHandle stream) {
  zero_first_rows(params.out, params, geometry, stream);
  const AttentionParams<T> chunked = arrange_chunks(params, geometry);
  if (chunked.chunks > 0) launch_relative_attention_forward(chunked, stream);
}

template <typename T>
void launch_chunked_cross_attention_backward(const AttentionBackwardParams<T>& params,
                                             const ChunkGeometry& geometry, StreamHandle stream) {
  zero_first_rows(params.grad_query, params.forward, geometry, stream);
  AttentionBackwardParams<T> chunked = params;
  chunked.forward = arrange_chunks(params.forward, geometry);
  chunked.grad_out = chunk_rows(params.grad_out, geometry.chunk_length);
  chunked.grad_query = chunk_rows(params.grad_query, geometry.chunk_length);
  launch_relative_attention_backward(chunked, stream);
}

template AttentionParams<float> arrange_chunks(const AttentionParams<float>&, const ChunkGeometry&);
template AttentionParams<bfloat16> arrange_chunks(const AttentionParams<bfloat16>&,
                                                  const ChunkGeometry&);
template void launch_chunked_cross_attention_forward(const AttentionParams<float>&,
                                                     const ChunkGeometry&, StreamHandle);
template void launch_chunked_cross_attention_forward(const AttentionParams<bfloat16>&,
                                                     const ChunkGeometry&, StreamHandle);
template void launch_chunked_cross_attention_backward(const AttentionBackwardParams<float>&,
                                                      const ChunkGeometry&, StreamHandle);
template void launch_chunked_cross_attention_backward(const AttentionBackwardParams<bfloat16>&,
                                                      const ChunkGeometry&, StreamHandle);

}  // namespace retro::kernels
