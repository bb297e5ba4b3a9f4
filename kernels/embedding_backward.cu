#include "kernels/dtype.cuh"
#include "kernels/embedding.h"

namespace retro::kernels {

namespace {

constexpr int kThreads = 128;

/// A block a piece, a thread some columns: no two threads add to the same place.
template <typename T>
__global__ void __launch_bounds__(kThreads) sum_pieces(EmbeddingBackwardParams<T> params) {
  const GlobalPointer<const int64_t> begins = global(params.piece_begins) + blockIdx.x;
  const GlobalPointer<const int64_t> tokens = global(params.sorted_tokens);
  const GlobalPointer<const T> grad = global(params.grad);
  const GlobalPointer<float> partial = global(params.partial) + blockIdx.x * params.width;
  const int64_t begin = begins[0];
  const int64_t end = begins[1];
  for (int64_t d = threadIdx.x; d < params.width; d += kThreads) {
    float sum = 0.0f;
    for (int64_t i = begin; i < end; ++i) sum += to_float(grad[tokens[i] * params.width + d]);
    partial[d] = sum;
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads) add_rows(EmbeddingBackwardParams<T> params) {
  const GlobalPointer<const int64_t> begins = global(params.row_begins) + blockIdx.x;
  const GlobalPointer<const float> partial = global<const float>(params.partial);
  const GlobalPointer<float> row =
      global(params.grad_weight) + global(params.row_ids)[blockIdx.x] * params.width;
  const int64_t begin = begins[0];
  const int64_t end = begins[1];
  for (int64_t d = threadIdx.x; d < params.width; d += kThreads) {
    float sum = row[d];
    for (int64_t piece = begin; piece < end; ++piece) sum += partial[piece * params.width + d];
    row[d] = sum;
  }
}

}  // namespace

template <typename T>
void launch_embedding_backward(const EmbeddingBackwardParams<T>& params, StreamHandle stream) {
  if (params.rows == 0) return;
  launch(&sum_pieces<T>, dim3(static_cast<unsigned>(params.pieces)), dim3(kThreads), 0, stream,
         params);
  launch(&add_rows<T>, dim3(static_cast<unsigned>(params.rows)), dim3(kThreads), 0, stream, params);
}

template void launch_embedding_backward(const EmbeddingBackwardParams<float>&, StreamHandle);
template void launch_embedding_backward(const EmbeddingBackwardParams<bfloat16>&, StreamHandle);

}  // namespace retro::kernels
