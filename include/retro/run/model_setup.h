// Models as a run's config describes them, fresh or from their best checkpoint, on its device.
#pragma once

#include "retro/model/retro_model.h"
#include "retro/run/run_config.h"

namespace retro {

/// The trainings of a run that are not RETRO's: "baseline" and, by the `baseline` section,
/// "baseline_wide" and "baseline_database".
std::vector<std::string> baseline_names(const RunConfig& config);
/// A baseline is trained beside RETRO; a fitted model's is its base, which is trained already.
bool trains_baseline(const RunConfig& config);
/// How the baselines are trained: as RETRO, but without neighbours, and with
/// baseline.learning_rate where that is set.
TrainConfig baseline_train_config(const RunConfig& config);
/// Whose weights an evaluation column of that kind is read with.
std::string training_of(const std::string& column_kind);
/// Fresh weights from train.seed for training "retro" (with `fit` beside those of the base) or one
/// of the baselines. Those have the same shape without cca_layers; baseline_wide has a feed-forward
/// so wide that the parameters are as many as RETRO's.
RetroModel make_model(const RunConfig& config, const Tokenizer& tokenizer,
                      const std::string& training);
/// The checkpoint with the lowest validation loss of a training; with `fit` the baseline is the
/// base. Throws Error if there is none.
RetroModel load_trained_model(const RunConfig& config, const std::string& training);
/// Neighbours per chunk at validation: the largest k in training.
int64_t evaluation_k(const RunConfig& config);

}  // namespace retro
