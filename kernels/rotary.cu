#include <cmath>

#include "kernels/dtype.cuh"
#include "kernels/rotary.h"

namespace retro::kernels {

namespace {

constexpr int kThreads = 256;

/// A thread a pair; pairs of a row lie beside each other, so reads and writes are whole lines. The
/// angle is formed from the exponent in full float32: for positions beyond 2^24 it would not matter
/// how.
template <typename T>
__global__ void __launch_bounds__(kThreads) rotary(RotaryParams<T> params) {
  const int64_t half = params.width / 2;
  const int64_t index = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (index >= params.batch * params.rows * params.heads * half) return;
  const int64_t i = index % half;
  const int64_t head = index / half % params.heads;
  const int64_t row = index / (half * params.heads);
  const int64_t b = row / params.rows;
  const int64_t n = row % params.rows;

  const float position = static_cast<float>(global(params.positions)[row]);
  const float frequency = exp2f(-log2f(params.base) * (2.0f * static_cast<float>(i)) /
                                static_cast<float>(params.width));
  const float angle = position * frequency;
  const float cosine = cosf(angle);
  const float sine = params.is_inverse ? -sinf(angle) : sinf(angle);

  const GlobalPointer<const T> input =
      global(params.input) + (b * params.input_batch_stride + n * params.input_row_stride +
                              head * params.input_head_stride);
  const GlobalPointer<T> output =
      global(params.output) + (b * params.output_batch_stride + n * params.output_row_stride +
                               head * params.output_head_stride);
  const float x = to_float(input[i]);
  const float y = to_float(input[i + half]);
  output[i] = from_float<T>(x * cosine - y * sine);
  output[i + half] = from_float<T>(y * cosine + x * sine);
}

}  // namespace

template <typename T>
void launch_rotary(const RotaryParams<T>& params, StreamHandle stream) {
  const int64_t pairs = params.batch * params.rows * params.heads * (params.width / 2);
  if (pairs == 0) return;
  launch(&rotary<T>, dim3(static_cast<unsigned>((pairs + kThreads - 1) / kThreads)), dim3(kThreads),
         0, stream, params);
}

template void launch_rotary(const RotaryParams<float>&, StreamHandle);
template void launch_rotary(const RotaryParams<bfloat16>&, StreamHandle);

}  // namespace retro::kernels
