#include "retro/ops/gemm_peak.h"

#include <algorithm>
#include <chrono>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/randn.h>

#include "matrix_product.h"

namespace retro {

namespace {

using Clock = std::chrono::steady_clock;

/// A GPU takes work faster than it does it: many products, then one wait.
double measure_on_device(Precision precision, at::Device device) {
  constexpr int64_t kSize = 8192;
  constexpr int kProducts = 32;
  constexpr int kRounds = 5;
  const at::TensorOptions options(device);
  const at::Tensor left = as_activations(at::randn({kSize, kSize}, options), precision);
  const at::Tensor right = as_activations(at::randn({kSize, kSize}, options), precision);
  double fastest = 1e30;
  for (int round = 0; round < kRounds; ++round) {
    (void)matrix_product(left, right, precision)[0][0].item<float>();
    const auto begin = Clock::now();
    at::Tensor product;
    for (int i = 0; i < kProducts; ++i) product = matrix_product(left, right, precision);
    (void)product[0][0].item<float>();
    fastest = std::min(fastest, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return kProducts * 2.0 * static_cast<double>(kSize) * kSize * kSize / fastest;
}

}  // namespace

double measure_gemm_peak(Precision precision, int threads, at::Device device) {
  constexpr int64_t kSize = 1024;
  constexpr double kSeconds = 0.8;
  const at::NoGradGuard no_grad;
  if (!device.is_cpu()) return measure_on_device(precision, device);
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
