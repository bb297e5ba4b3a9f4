// One AdamW update with norm and clipping: ours in one fused pass beside LibTorch's optimizer, same
// parameters, one thread.
#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <torch/torch.h>

#include "retro/train/optimizer.h"

namespace {

/// Shapes of a small model: 2.7 million parameters in about 80 tensors.
std::vector<at::Tensor> parameters() {
  std::vector<at::Tensor> out = {at::randn({4096, 128}), at::randn({4096, 128}),
                                 at::randn({4096, 128})};
  for (int layer = 0; layer < 6; ++layer) {
    for (int matrix = 0; matrix < 5; ++matrix) out.push_back(at::randn({128, 128}));
    out.push_back(at::randn({512, 128}));
    out.push_back(at::randn({128, 512}));
    for (int gain = 0; gain < 4; ++gain) out.push_back(at::ones({128}));
  }
  for (at::Tensor& parameter : out) parameter.requires_grad_();
  return out;
}

void set_gradients(const std::vector<at::Tensor>& tensors) {
  for (const at::Tensor& tensor : tensors) tensor.mutable_grad() = at::randn_like(tensor);
}

/// Median milliseconds of `repeats` calls.
double median_milliseconds(const std::function<void()>& work, int repeats = 31) {
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double, std::milli> elapsed =
        std::chrono::steady_clock::now() - start;
    times.push_back(elapsed.count());
  }
  std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
  return times[static_cast<size_t>(repeats / 2)];
}

}  // namespace

int main() {
  at::set_num_threads(1);
  const auto ours = parameters();
  const auto theirs = parameters();
  set_gradients(ours);
  set_gradients(theirs);
  int64_t count = 0;
  std::vector<retro::NamedParameter> named;
  for (size_t i = 0; i < ours.size(); ++i) {
    count += ours[i].numel();
    named.push_back({fmt::format("layer{}.weight", i), ours[i].detach()});
    named.back().value.mutable_grad() = ours[i].grad();
  }
  retro::AdamW fused(named, {});
  torch::optim::AdamW plain(theirs, torch::optim::AdamWOptions(1e-3).weight_decay(0.1));
  const double fused_ms = median_milliseconds([&] {
    const double norm = fused.gradient_norm();
    fused.step(1e-3, norm > 1.0 ? 1.0 / norm : 1.0);
  });
  const double plain_ms = median_milliseconds([&] {
    torch::nn::utils::clip_grad_norm_(theirs, 1.0);
    plain.step();
  });
  fmt::print(
      "{{\"benchmark\": \"optimizer_step\", \"parameters\": {}, \"threads\": 1, \"retro_ms\": "
      "{:.3f}, \"torch_ms\": {:.3f}, \"ratio\": {:.2f}}}\n",
      count, fused_ms, plain_ms, plain_ms / fused_ms);
}
