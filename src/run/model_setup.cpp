#include "retro/run/model_setup.h"

#include <algorithm>

#include "retro/core/bundle.h"
#include "retro/core/error.h"
#include "retro/model/retrofit.h"
#include "retro/model/weights.h"
#include "retro/ops/device.h"
#include "retro/run/run_bundle.h"
#include "retro/train/checkpoint.h"

namespace retro {

namespace {

/// The baseline whose feed-forwards hold what RETRO's encoder and cross-attention have.
ModelConfig wide_baseline(const ModelConfig& retro) {
  ModelConfig shape = retro.resolved();
  const int64_t parameters = RetroModel(shape)->num_parameters();
  shape.cca_layers.clear();
  const int64_t extra = parameters - RetroModel(shape)->num_parameters();
  // One more feature of the feed-forward is a column of `up` and one of `down` in every layer.
  const int64_t per_feature = 2 * shape.width * shape.layers;
  shape.feed_forward += (extra + per_feature / 2) / per_feature;
  return shape;
}

/// A loaded base, or a model fitted to it, in fit.base_precision.
void set_base_precision(RetroModel& model, const FitConfig& fit) {
  if (fit.base_precision == "float32") return;
  model->pack_base(fit.base_precision == "q8_0" ? WeightFormat::kQ8_0 : WeightFormat::kBfloat16);
}

/// Before its first step.
RetroModel make_fitted_model(const RunConfig& config) {
  RetroModel model =
      retrofit(find_base(config.fit.base).weights, config.model,
               {static_cast<uint64_t>(config.train.seed), config.fit.is_frozen(), {}});
  set_base_precision(model, config.fit);
  return model;
}

void place(RetroModel& model, const RunConfig& config) {
  const at::Device device = resolve_device(config.device);
  RETRO_CHECK(
      device.is_cpu() || !config.fit.is_enabled() || config.fit.base_precision == "float32",
      "fit.base_precision is {}, which only device: cpu computes with; device: {} takes float32",
      config.fit.base_precision, config.device);
  model->to(device);
  model->set_precision(resolve_precision(config.train.precision, device));
}

/// Of the best checkpoint or of a bundle; with `fit` the baseline is the base.
std::filesystem::path trained_weights(const RunConfig& config, const std::string& training) {
  if (config.fit.is_enabled() && training == "baseline") return find_base(config.fit.base).weights;
  const auto packed = packed_weights(config);
  if (training == "retro" && path_exists(packed)) return packed;
  const auto directory = RunPaths(config).training(training) / "checkpoints";
  const auto best = best_checkpoint(directory);
  RETRO_CHECK(best.has_value(), "{}: no checkpoint; train first (retro run CONFIG)",
              directory.string());
  return best->path / "model.safetensors";
}

}  // namespace

std::vector<std::string> baseline_names(const RunConfig& config) {
  std::vector<std::string> names;
  if (!config.baseline.enabled) return names;
  names.emplace_back("baseline");
  if (config.baseline.parameter_matched) names.emplace_back("baseline_wide");
  if (config.baseline.database_text) names.emplace_back("baseline_database");
  return names;
}

bool trains_baseline(const RunConfig& config) {
  return config.baseline.enabled && !config.fit.is_enabled();
}

TrainConfig baseline_train_config(const RunConfig& config) {
  TrainConfig train = config.train;
  train.neighbours = {0};
  train.self_neighbour = {};
  train.useless_neighbours = {};
  if (config.baseline.learning_rate > 0) train.learning_rate = config.baseline.learning_rate;
  return train;
}

std::string training_of(const std::string& column_kind) {
  return column_kind.starts_with("baseline") ? column_kind : "retro";
}

RetroModel make_model(const RunConfig& config, const Tokenizer& tokenizer,
                      const std::string& training) {
  ModelConfig shape = config.model;
  if (shape.vocabulary == 0) shape.vocabulary = tokenizer.vocabulary_size();
  RETRO_CHECK(!config.fit.is_enabled() || shape.vocabulary >= tokenizer.vocabulary_size(),
              "the tokenizer has {} pieces, the base in {} knows {}: they are of different models",
              tokenizer.vocabulary_size(), config.fit.base, shape.vocabulary);
  RETRO_CHECK(shape.vocabulary >= tokenizer.vocabulary_size(),
              "model.vocabulary is {}, but the tokenizer has {} pieces; leave it out to take the "
              "tokenizer's",
              shape.vocabulary, tokenizer.vocabulary_size());
  if (training == "baseline_wide") shape = wide_baseline(shape);
  if (training != "retro") shape.cca_layers.clear();
  RetroModel model = config.fit.is_enabled() && training == "retro"
                         ? make_fitted_model(config)
                         : RetroModel(shape.resolved(), static_cast<uint64_t>(config.train.seed));
  place(model, config);
  return model;
}

RetroModel load_trained_model(const RunConfig& config, const std::string& training) {
  const std::filesystem::path weights = trained_weights(config, training);
  const bool needs_base = config.fit.is_enabled() && config.fit.is_frozen() && training == "retro";
  RetroModel model = needs_base ? make_fitted_model(config) : load_model(weights);
  if (needs_base) {
    load_weights(model, weights);
  } else if (config.fit.is_enabled() && training == "baseline") {
    set_base_precision(model, config.fit);  // the same base as the fitted model's
  }
  place(model, config);
  model->eval();
  return model;
}

int64_t evaluation_k(const RunConfig& config) {
  const auto& in_training = config.train.neighbours;
  return in_training.empty() ? 0 : *std::max_element(in_training.begin(), in_training.end());
}

}  // namespace retro
