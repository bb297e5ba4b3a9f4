// Compiled with -fno-math-errno (CMakeLists.txt): otherwise the square root keeps the loop scalar.
#include "adamw_kernel.h"

#include <cmath>

namespace retro {

void adamw_update(const AdamWBlock& block, const AdamWFactors& factors) {
  float* __restrict parameter = block.parameter;
  const float* __restrict gradient = block.gradient;
  float* __restrict exp_avg = block.exp_avg;
  float* __restrict exp_avg_sq = block.exp_avg_sq;
  const AdamWFactors f = factors;
  const int64_t size = block.size;
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) {
    const float g = gradient[i] * f.gradient_scale;
    const float first = f.beta1 * exp_avg[i] + (1.0F - f.beta1) * g;
    const float second = f.beta2 * exp_avg_sq[i] + (1.0F - f.beta2) * g * g;
    exp_avg[i] = first;
    exp_avg_sq[i] = second;
    const float root = std::sqrt(second) * f.root_scale + f.epsilon;
    parameter[i] = parameter[i] * f.decay - f.step_size * first / root;
  }
}

double sum_of_squares(const float* values, int64_t size) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < size; ++i) {
    const auto value = static_cast<double>(values[i]);
    sum += value * value;
  }
  return sum;
}

}  // namespace retro
