#include "rms_norm_cpu.h"

#include <cmath>
#include <vector>

#include <ATen/Parallel.h>

#include "row_blocks.h"

namespace retro {

namespace {

template <typename T>
void normalise_row(const RmsNormForward<T>& params, int64_t row) {
  const T* x = params.input + row * params.width;
  T* y = params.output + row * params.width;
  T sum = T(0);
#pragma omp simd reduction(+ : sum)
  for (int64_t d = 0; d < params.width; ++d) sum += x[d] * x[d];
  const T mean = sum / static_cast<T>(params.width);
  const T inverse = T(1) / std::sqrt(mean + static_cast<T>(params.epsilon));
  params.inverse_rms[row] = inverse;
  for (int64_t d = 0; d < params.width; ++d) y[d] = x[d] * inverse * params.gain[d];
}

/// With y = x s g, s = 1/rms: dx = s g dy - x s^3 / D * sum(x g dy), dg = x s dy.
template <typename T>
void differentiate_row(const RmsNormBackward<T>& params, int64_t row, T* gain_sum) {
  const T* x = params.input + row * params.width;
  const T* dy = params.grad_output + row * params.width;
  T* dx = params.grad_input + row * params.width;
  const T inverse = params.inverse_rms[row];
  T dot = T(0);
#pragma omp simd reduction(+ : dot)
  for (int64_t d = 0; d < params.width; ++d) {
    const T scaled = x[d] * inverse * dy[d];
    gain_sum[d] += scaled;
    dot += scaled * params.gain[d];
  }
  const T pull = dot / static_cast<T>(params.width) * inverse * inverse;
  for (int64_t d = 0; d < params.width; ++d) {
    dx[d] = inverse * params.gain[d] * dy[d] - x[d] * pull;
  }
}

}  // namespace

template <typename T>
void rms_norm_forward_cpu(const RmsNormForward<T>& params) {
  const RowBlocks blocks(params.rows);
  at::parallel_for(0, blocks.count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = blocks.begin(begin); row < blocks.begin(end); ++row) {
      normalise_row(params, row);
    }
  });
}

template <typename T>
void rms_norm_backward_cpu(const RmsNormBackward<T>& params) {
  const RowBlocks blocks(params.rows);
  std::vector<T> sums(static_cast<size_t>(blocks.count * params.width), T(0));
  at::parallel_for(0, blocks.count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      for (int64_t row = blocks.begin(block); row < blocks.end(block); ++row) {
        differentiate_row(params, row, sums.data() + block * params.width);
      }
    }
  });
  for (int64_t d = 0; d < params.width; ++d) params.grad_gain[d] = T(0);
  for (int64_t block = 0; block < blocks.count; ++block) {
    const T* sum = sums.data() + block * params.width;
    for (int64_t d = 0; d < params.width; ++d) params.grad_gain[d] += sum[d];
  }
}

template void rms_norm_forward_cpu<float>(const RmsNormForward<float>&);
template void rms_norm_forward_cpu<double>(const RmsNormForward<double>&);
template void rms_norm_backward_cpu<float>(const RmsNormBackward<float>&);
template void rms_norm_backward_cpu<double>(const RmsNormBackward<double>&);

}  // namespace retro
