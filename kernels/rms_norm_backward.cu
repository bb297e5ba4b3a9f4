#include <algorithm>

#include "kernels/reduce.cuh"
#include "kernels/rms_norm.h"
#include "kernels/vector_io.cuh"

namespace retro::kernels {

namespace {

constexpr int kThreads = 256;
constexpr int64_t kRowsPerSlice = 32;
constexpr int64_t kMaxSlices = 512;

/// With s = 1 / rms and z = sum(grad * gain * x): grad_x = s * (grad * gain - x * s^2 * z / width).
/// A block takes every slices-th row and adds up its share of the gain's gradient, each thread in
/// columns of its own, so that no two threads meet.
template <typename T>
__global__ void __launch_bounds__(kThreads) rms_norm_backward(RmsNormBackwardParams<T> params) {
  const GlobalPointer<const float> gain = global(params.gain);
  const GlobalPointer<float> partial = global(params.partial_gain) + blockIdx.x * params.width;
  for (int64_t d = threadIdx.x; d < params.width; d += kThreads) partial[d] = 0.0f;

  for (int64_t row = blockIdx.x; row < params.rows; row += gridDim.x) {
    const GlobalPointer<const T> input = global(params.input) + row * params.input_stride;
    const GlobalPointer<const T> grad = global(params.grad_output) + row * params.width;
    const GlobalPointer<T> grad_input = global(params.grad_input) + row * params.width;
    float product = 0.0f;
    for (int64_t d = threadIdx.x; d < params.width; d += kThreads) {
      product += to_float(grad[d]) * gain[d] * to_float(input[d]);
    }
    product = block_sum<kThreads>(product);
    const float inverse = global(params.inverse_rms)[row];
    const float pull = inverse * inverse * product / static_cast<float>(params.width);
    for (int64_t d = threadIdx.x; d < params.width; d += kThreads) {
      const float x = to_float(input[d]);
      const float g = to_float(grad[d]);
      grad_input[d] = from_float<T>(inverse * (g * gain[d] - x * pull));
      partial[d] += g * x * inverse;
    }
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads) sum_gain_slices(RmsNormBackwardParams<T> params) {
  const int64_t d = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (d >= params.width) return;
  const GlobalPointer<const float> partial = global<const float>(params.partial_gain);
  const int64_t slices = params.rows;  // set by the launcher
  float sum = 0.0f;
  for (int64_t slice = 0; slice < slices; ++slice) sum += partial[slice * params.width + d];
  global(params.grad_gain)[d] = sum;
}

}  // namespace

int64_t rms_norm_slices(int64_t rows) {
  return std::clamp((rows + kRowsPerSlice - 1) / kRowsPerSlice, int64_t{1}, kMaxSlices);
}

template <typename T>
void launch_rms_norm_backward(const RmsNormBackwardParams<T>& params, StreamHandle stream) {
  const int64_t slices = rms_norm_slices(params.rows);
  launch(&rms_norm_backward<T>, dim3(static_cast<unsigned>(slices)), dim3(kThreads), 0, stream,
         params);
  RmsNormBackwardParams<T> sums = params;
  sums.rows = slices;
  launch(&sum_gain_slices<T>, dim3(static_cast<unsigned>((params.width + kThreads - 1) / kThreads)),
         dim3(kThreads), 0, stream, sums);
}

template void launch_rms_norm_backward(const RmsNormBackwardParams<float>&, StreamHandle);
template void launch_rms_norm_backward(const RmsNormBackwardParams<bfloat16>&, StreamHandle);

}  // namespace retro::kernels
