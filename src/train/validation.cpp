#include "retro/train/validation.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <torch/utils.h>

#include "retro/ops/linear_cross_entropy.h"
#include "retro/train/training_step.h"

namespace retro {

double ValidationLoss::loss() const { return nats / static_cast<double>(num_targets); }

double ValidationLoss::bits_per_byte() const {
  return nats / (std::numbers::ln2 * static_cast<double>(num_bytes));
}

namespace {

/// `count` of [0, total), evenly spread and beginning with 0.
std::vector<int64_t> spread(int64_t total, int64_t count) {
  std::vector<int64_t> chosen;
  const int64_t taken = std::min(count, total);
  for (int64_t i = 0; i < taken; ++i) chosen.push_back(i * total / taken);
  return chosen;
}

/// Evaluation mode and no gradients while it lives.
class EvaluationScope {
 public:
  explicit EvaluationScope(RetroModel& model) : model_(model), was_training_(model->is_training()) {
    model_->eval();
  }
  ~EvaluationScope() { model_->train(was_training_); }
  EvaluationScope(const EvaluationScope&) = delete;
  EvaluationScope& operator=(const EvaluationScope&) = delete;

 private:
  RetroModel& model_;
  bool was_training_;
  torch::NoGradGuard no_gradients_;
};

void add_batch(RetroModel& model, const Batch& batch, ValidationLoss& loss) {
  const at::Tensor hidden_TD = model->hidden(model_input(batch)).flatten(0, 1);
  const at::Device device = hidden_TD.device();
  const at::Tensor losses_T =
      token_losses(hidden_TD, model->output_weight(), batch.targets_BN.flatten().to(device),
                   batch.target_is_real_BN.flatten().to(device), model->precision());
  loss.nats += losses_T.sum(at::kDouble).item<double>();
  loss.num_targets += batch.num_targets;
  loss.num_bytes += batch.target_bytes_BN.sum(at::kLong).item<int64_t>();
}

}  // namespace

ValidationLoss validate(RetroModel& model, const EvaluationDataset& dataset,
                        const NeighbourSource* neighbours, const ValidationSettings& settings) {
  const EvaluationScope scope(model);
  const std::vector<int64_t> sequences = spread(dataset.num_sequences(), settings.num_sequences);
  ValidationLoss loss;
  const auto count = static_cast<int64_t>(sequences.size());
  for (int64_t first = 0; first < count; first += settings.batch_size) {
    const int64_t size = std::min(settings.batch_size, count - first);
    const auto part =
        std::span(sequences).subspan(static_cast<size_t>(first), static_cast<size_t>(size));
    add_batch(model, dataset.batch(part, neighbours, settings.k), loss);
  }
  return loss;
}

}  // namespace retro
