// Loss and bits per byte on a fixed, evenly spread part of an evaluation stream.
#pragma once

#include <cstdint>

#include "retro/data/retro_dataset.h"
#include "retro/model/retro_model.h"

namespace retro {

struct ValidationLoss {
  double nats = 0;
  int64_t num_targets = 0;
  int64_t num_bytes = 0;
  double loss() const;           ///< nats per target
  double bits_per_byte() const;  ///< METHOD section 6
};

struct ValidationSettings {
  int64_t num_sequences = 64;  ///< evenly spread; at most what the data set has
  int64_t batch_size = 2;
  int64_t k = 0;  ///< 0: retrieval off
};

/// No gradients. `neighbours` may be null when k is 0.
ValidationLoss validate(RetroModel& model, const EvaluationDataset& dataset,
                        const NeighbourSource* neighbours, const ValidationSettings& settings);

}  // namespace retro
