#include "sequence_share.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <ATen/Parallel.h>
#include <torch/csrc/autograd/autograd.h>

namespace retro {

namespace {

constexpr int64_t kMostGradientBytes = 1'000'000'000;

struct Part {
  double nats = 0;
  std::vector<at::Tensor> gradients;  ///< one per parameter, or none at all
};

/// Gradients are returned, not accumulated into the parameters, which other threads read.
Part run_part(RetroModel& model, const std::vector<at::Tensor>& parameters, const Batch& batch) {
  const at::Tensor loss = summed_loss(model, batch);
  Part part{loss.item<double>(), {}};
  if (std::isfinite(part.nats) && loss.requires_grad())
    part.gradients =
        torch::autograd::grad({loss}, parameters, /*grad_outputs=*/{}, /*retain_graph=*/false,
                              /*create_graph=*/false, /*allow_unused=*/true);
  return part;
}

}  // namespace

int64_t sequence_threads(const RetroModel& model, const AdamW& optimizer, int64_t num_sequences,
                         ThreadShare share) {
  const int64_t threads = at::get_num_threads();
  const bool is_possible = threads > 1 && num_sequences >= threads && model->device().is_cpu() &&
                           model->config().dropout == 0;
  if (!is_possible || share == ThreadShare::kProducts) return 1;
  if (share == ThreadShare::kSequences) return threads;
  const int64_t bytes = threads * optimizer.num_elements() * int64_t{sizeof(float)};
  return bytes <= kMostGradientBytes ? threads : 1;
}

double accumulate_by_sequences(RetroModel& model, AdamW& optimizer, const Batch& batch,
                               int64_t num_threads) {
  const int64_t sequences = batch.tokens_BN.size(0);
  const std::vector<at::Tensor> parameters = optimizer.parameters();
  std::vector<Part> parts(static_cast<size_t>(num_threads));
  // Inside, operations see a parallel region and keep to their thread.
  at::parallel_for(0, num_threads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i * sequences / num_threads;
      const int64_t last = (i + 1) * sequences / num_threads;
      parts[static_cast<size_t>(i)] =
          run_part(model, parameters, sequences_of(batch, first, last - first));
    }
  });
  double nats = 0;
  for (const Part& part : parts) nats += part.nats;
  if (!std::isfinite(nats)) return nats;
  for (const Part& part : parts) {
    if (!part.gradients.empty()) optimizer.add_gradients(part.gradients);
  }
  return nats;
}

}  // namespace retro
