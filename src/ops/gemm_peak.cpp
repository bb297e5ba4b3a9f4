#include "retro/ops/gemm_peak.h"

#include <algorithm>
#include <chrono>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/randn.h>

#include "matrix_product.h"

namespace retro {

double measure_gemm_peak(Precision precision, int threads) {
  using Clock = std::chrono::steady_clock;
  constexpr int64_t kSize = 1024;
  constexpr double kSeconds = 0.8;
  const at::NoGradGuard no_grad;
  const int previous_threads = at::get_num_threads();
  at::set_num_threads(threads);
  const at::Tensor left = at::randn({kSize, kSize});
  const at::Tensor right = at::randn({kSize, kSize});
  double fastest = 1e30;
  const auto start = Clock::now();
  while (std::chrono::duration<double>(Clock::now() - start).count() < kSeconds) {
    const auto begin = Clock::now();
    const at::Tensor product = matrix_product(left, right.t(), precision);
    fastest = std::min(fastest, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  at::set_num_threads(previous_threads);
  return 2.0 * static_cast<double>(kSize * kSize * kSize) / fastest;
}

}  // namespace retro
