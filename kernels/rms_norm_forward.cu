#include "kernels/reduce.cuh"
#include "kernels/rms_norm.h"
#include "kernels/vector_io.cuh"

namespace retro::kernels {

namespace {

constexpr int kThreads = 256;

/// A block a row. The row is read twice; the second time it comes from the cache (a row of the
/// widest model has 8 KiB), which costs less than registers for any width.
template <typename T, bool kVectors>
__global__ void __launch_bounds__(kThreads) rms_norm_forward(RmsNormForwardParams<T> params) {
  constexpr int kStep = kVectors ? kVectorWidth<T> : 1;
  const int64_t row = blockIdx.x;
  const GlobalPointer<const T> input = global(params.input) + row * params.input_stride;
  const GlobalPointer<T> output = global(params.output) + row * params.width;
  const GlobalPointer<const float> gain = global(params.gain);

  float squares = 0.0f;
  for (int64_t d = int64_t{threadIdx.x} * kStep; d < params.width; d += kThreads * kStep) {
    if constexpr (kVectors) {
      const FloatVector<T> x = load_vector<T>(input + d);
#pragma unroll
      for (int i = 0; i < kStep; ++i) squares += x.values[i] * x.values[i];
    } else {
      const float x = to_float(input[d]);
      squares += x * x;
    }
  }
  squares = block_sum<kThreads>(squares);
  const float inverse = rsqrtf(squares / static_cast<float>(params.width) + params.epsilon);
  if (threadIdx.x == 0) global(params.inverse_rms)[row] = inverse;

  for (int64_t d = int64_t{threadIdx.x} * kStep; d < params.width; d += kThreads * kStep) {
    if constexpr (kVectors) {
      FloatVector<T> x = load_vector<T>(input + d);
#pragma unroll
      for (int i = 0; i < kStep; ++i) x.values[i] *= inverse * gain[d + i];
      store_vector<T>(output + d, x);
    } else {
      output[d] = from_float<T>(to_float(input[d]) * inverse * gain[d]);
    }
  }
}

}  // namespace

template <typename T>
void launch_rms_norm_forward(const RmsNormForwardParams<T>& params, StreamHandle stream) {
  if (params.rows == 0) return;
  const bool vectors = is_vectorizable<T>(params.input, params.width, params.input_stride) &&
                       is_vectorizable<T>(params.output, params.width, params.width);
  launch(vectors ? &rms_norm_forward<T, true> : &rms_norm_forward<T, false>,
         dim3(static_cast<unsigned>(params.rows)), dim3(kThreads), 0, stream, params);
}

template void launch_rms_norm_forward(const RmsNormForwardParams<float>&, StreamHandle);
template void launch_rms_norm_forward(const RmsNormForwardParams<bfloat16>&, StreamHandle);

}  // namespace retro::kernels
