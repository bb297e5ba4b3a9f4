#include "kernels/embedding.h"
#include "kernels/vector_io.cuh"

namespace retro::kernels {

namespace {

constexpr int kThreads = 128;

/// A block a token: its row is one contiguous read and one contiguous write.
template <typename T, bool kVectors>
__global__ void __launch_bounds__(kThreads) embedding_forward(EmbeddingForwardParams<T> params) {
  const int64_t token = blockIdx.x;
  const int64_t id = global(params.ids)[token];
  const bool exists = id >= 0 && id < params.vocabulary;
  const GlobalPointer<const T> row = global(params.weight) + (exists ? id : 0) * params.width;
  const GlobalPointer<T> out = global(params.out) + token * params.width;
  if constexpr (kVectors) {
    constexpr int kStep = kVectorWidth<T>;
    for (int64_t d = int64_t{threadIdx.x} * kStep; d < params.width; d += kThreads * kStep) {
      store_as(out + d, exists ? load_as<uint4>(row + d) : make_uint4(0, 0, 0, 0));
    }
  } else {
    for (int64_t d = threadIdx.x; d < params.width; d += kThreads) {
      out[d] = exists ? T(row[d]) : from_float<T>(0.0f);
    }
  }
}

}  // namespace

template <typename T>
void launch_embedding_forward(const EmbeddingForwardParams<T>& params, StreamHandle stream) {
  if (params.count == 0) return;
  const bool vectors = is_vectorizable<T>(params.weight, params.width, params.width) &&
                       is_vectorizable<T>(params.out, params.width, params.width);
  launch(vectors ? &embedding_forward<T, true> : &embedding_forward<T, false>,
         dim3(static_cast<unsigned>(params.count)), dim3(kThreads), 0, stream, params);
}

template void launch_embedding_forward(const EmbeddingForwardParams<float>&, StreamHandle);
template void launch_embedding_forward(const EmbeddingForwardParams<bfloat16>&, StreamHandle);

}  // namespace retro::kernels
