// Models as a run's config describes them, fresh or from their best checkpoint.
#pragma once

#include "retro/model/retro_model.h"
#include "retro/run/run_config.h"

namespace retro {

/// Fresh weights from train.seed. A baseline has the same shape without cca_layers.
RetroModel make_model(const RunConfig& config, const Tokenizer& tokenizer, bool is_baseline);
/// The checkpoint with the lowest validation loss of training "retro" or "baseline". Throws Error
/// if there is none.
RetroModel load_trained_model(const RunConfig& config, const std::string& training);
/// Neighbours per chunk at validation: the largest k in training.
int64_t evaluation_k(const RunConfig& config);

}  // namespace retro
