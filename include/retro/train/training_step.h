// Loss of a batch, and one optimizer step over several micro-batches.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "retro/data/batch.h"
#include "retro/model/retro_model.h"
#include "retro/train/optimizer.h"

namespace retro {

/// The parameters that are trained, by name.
std::vector<NamedParameter> trained_parameters(const RetroModel& model);
/// A batch as the model reads it; retrieval off when the batch has no neighbours.
ModelInput model_input(const Batch& batch);
/// Sum of the negative log-likelihoods of the batch's real targets, in nats, with gradients.
at::Tensor summed_loss(RetroModel& model, const Batch& batch);

/// What the threads of a CPU share in a training step.
enum class ThreadShare {
  kAuto,       ///< sequences where that is possible and the gradients are small, else products
  kSequences,  ///< each thread takes sequences of its own through forward and backward
  kProducts,   ///< all threads work on each operation
};

struct StepSettings {
  double learning_rate = 0;
  double clip = 1.0;  ///< 0: no clipping
  ThreadShare share = ThreadShare::kAuto;
};

struct StepResult {
  double loss = 0;  ///< nats per real target of the whole step
  int64_t num_targets = 0;
  double gradient_norm = 0;  ///< of that mean loss, before clipping
  double forward_flops = 0;
  double mean_neighbours = 0;  ///< k of the micro-batches
};

/// Accumulates the gradients of `num_micro_batches` batches from `next`, each weighted by its real
/// targets, clips once and updates once. When loss or gradient norm is not finite nothing is
/// updated; the caller looks at the result. How the threads share the work changes the result by
/// rounding only.
StepResult training_step(RetroModel& model, AdamW& optimizer, const std::function<Batch()>& next,
                         int64_t num_micro_batches, const StepSettings& settings);

/// Optimizer steps of `num_micro_batches` at `accumulation`: a last partial window counts (7 at 4
/// are 2).
int64_t num_updates(int64_t num_micro_batches, int64_t accumulation);

}  // namespace retro
