// A micro-batch divided among threads, sequence by sequence.
#pragma once

#include <cstdint>

#include "retro/data/batch.h"
#include "retro/model/retro_model.h"
#include "retro/train/optimizer.h"
#include "retro/train/training_step.h"

namespace retro {

/// Threads that take sequences of their own: 1, or all there are. `share` decides; "auto" wants at
/// least a sequence for each of them and at most 1 GB of gradients, of which every thread has all.
/// Never where draws of dropout would depend on which thread comes first, nor on a GPU. A sequence
/// passes the model without waiting for other threads, which with small products is most of what
/// sharing them costs.
int64_t sequence_threads(const RetroModel& model, const AdamW& optimizer, int64_t num_sequences,
                         ThreadShare share);

/// Adds the gradients of the batch's summed loss, each thread's in the order of its sequences, so
/// that the result does not depend on which thread ends first. The loss; where it is not finite no
/// gradient is added.
double accumulate_by_sequences(RetroModel& model, AdamW& optimizer, const Batch& batch,
                               int64_t num_threads);

}  // namespace retro
