#include "retro/train/training_step.h"

#include <cmath>
#include <limits>

#include "retro/ops/linear_cross_entropy.h"

#include "sequence_share.h"

namespace retro {

std::vector<NamedParameter> trained_parameters(const RetroModel& model) {
  std::vector<NamedParameter> parameters;
  for (const auto& item : model->named_parameters()) {
    if (item.value().requires_grad()) parameters.push_back({item.key(), item.value()});
  }
  return parameters;
}

ModelInput model_input(const Batch& batch) {
  return {batch.tokens_BN, batch.real_BN, batch.neighbours_BLKR, batch.document_BN,
          batch.frozen_BND};
}

at::Tensor summed_loss(RetroModel& model, const Batch& batch) {
  const at::Tensor hidden_BND = model->hidden(model_input(batch));
  const at::Tensor hidden_TD = hidden_BND.flatten(0, 1);
  const at::Tensor& output_VD = model->output_weight();
  const at::Tensor weight_T = batch.target_is_real_BN.flatten().to(
      output_VD.device(), output_VD.scalar_type(), /*non_blocking=*/true);
  const at::Tensor targets_T =
      batch.targets_BN.flatten().to(output_VD.device(), at::kLong, /*non_blocking=*/true);
  return linear_cross_entropy(hidden_TD, output_VD, targets_T, weight_T, model->precision());
}

namespace {

int64_t neighbours_of(const Batch& batch) {
  return batch.neighbours_BLKR.defined() ? batch.neighbours_BLKR.size(2) : 0;
}

/// Adds the gradients of a batch's summed loss; the loss.
double accumulate_whole(RetroModel& model, const Batch& batch) {
  const at::Tensor loss = summed_loss(model, batch);
  const double nats = loss.item<double>();
  // A bad loss would only spread: its gradients are not formed. A frozen base without neighbours
  // has none.
  if (std::isfinite(nats) && loss.requires_grad()) loss.backward();
  return nats;
}

/// Adds one micro-batch's gradients and counts; its summed loss.
double accumulate(RetroModel& model, AdamW& optimizer, const Batch& batch, ThreadShare share,
                  StepResult& result) {
  const int64_t threads = sequence_threads(model, optimizer, batch.tokens_BN.size(0), share);
  const double nats = threads > 1 ? accumulate_by_sequences(model, optimizer, batch, threads)
                                  : accumulate_whole(model, batch);
  result.num_targets += batch.num_targets;
  result.forward_flops +=
      model->forward_flops(batch.tokens_BN.size(0), batch.tokens_BN.size(1), neighbours_of(batch));
  return nats;
}

void clip_and_update(AdamW& optimizer, const StepSettings& settings, StepResult& result) {
  // Gradients are of the sum so far; the mean and the clip are one factor of the update.
  const double per_target = 1.0 / static_cast<double>(result.num_targets);
  result.gradient_norm = optimizer.gradient_norm() * per_target;
  if (!std::isfinite(result.gradient_norm)) return;
  const bool is_clipped = settings.clip > 0 && result.gradient_norm > settings.clip;
  const double shrink = is_clipped ? settings.clip / result.gradient_norm : 1.0;
  optimizer.step(settings.learning_rate, per_target * shrink);
}

}  // namespace

StepResult training_step(RetroModel& model, AdamW& optimizer, const std::function<Batch()>& next,
                         int64_t num_micro_batches, const StepSettings& settings) {
  StepResult result;
  double nats = 0;
  double neighbours = 0;
  for (int64_t i = 0; i < num_micro_batches && std::isfinite(nats); ++i) {
    const Batch batch = next();
    nats += accumulate(model, optimizer, batch, settings.share, result);
    neighbours += static_cast<double>(neighbours_of(batch));
  }
  result.mean_neighbours = neighbours / static_cast<double>(num_micro_batches);
  if (result.num_targets > 0) {
    result.loss = nats / static_cast<double>(result.num_targets);
    if (std::isfinite(nats)) clip_and_update(optimizer, settings, result);
  }
  optimizer.zero_gradients();
  return result;
}

int64_t num_updates(int64_t num_micro_batches, int64_t accumulation) {
  return (num_micro_batches + accumulation - 1) / accumulation;
}

}  // namespace retro
