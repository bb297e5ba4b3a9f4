#include "kernels/dtype.cuh"
#include "kernels/rotary.h"

namespace retro::kernels {

namespace {

constexpr int kThreads = 256;

/// A thread a pair; pairs of a row lie beside each other, so reads and writes are whole lines.
template <typename T>
__global__ void __launch_bounds__(kThreads) rotary(RotaryParams<T> params) {
  const int64_t half = params.width / 2;
  const int64_t index = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (index >= params.batch * params.rows * params.heads * half) return;
  const int64_t i = index % half;
  const int64_t head = index / half;  // over batch, rows and heads
  const int64_t angle = head / params.heads % params.rows * half + i;
  const float cosine = global(params.cosines)[angle];
  const float positive = global(params.sines)[angle];
  const float sine = params.is_inverse ? -positive : positive;

  const GlobalPointer<const T> input = global(params.input) + head * params.width;
  const GlobalPointer<T> output = global(params.output) + head * params.width;
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
