#include "retro/run/model_setup.h"

#include <algorithm>

#include "retro/core/error.h"
#include "retro/model/weights.h"
#include "retro/train/checkpoint.h"

namespace retro {

RetroModel make_model(const RunConfig& config, const Tokenizer& tokenizer, bool is_baseline) {
  ModelConfig shape = config.model;
  if (shape.vocabulary == 0) shape.vocabulary = tokenizer.vocabulary_size();
  RETRO_CHECK(shape.vocabulary >= tokenizer.vocabulary_size(),
              "model.vocabulary is {}, but the tokenizer has {} pieces; leave it out to take the "
              "tokenizer's",
              shape.vocabulary, tokenizer.vocabulary_size());
  if (is_baseline) shape.cca_layers.clear();
  RetroModel model(shape.resolved(), static_cast<uint64_t>(config.train.seed));
  model->set_precision(resolve_precision(config.train.precision));
  return model;
}

RetroModel load_trained_model(const RunConfig& config, const std::string& training) {
  const auto directory = RunPaths(config).training(training) / "checkpoints";
  const auto best = best_checkpoint(directory);
  RETRO_CHECK(best.has_value(), "{}: no checkpoint; train first (retro run CONFIG)",
              directory.string());
  RetroModel model = load_model(best->path / "model.safetensors");
  model->set_precision(resolve_precision(config.train.precision));
  model->eval();
  return model;
}

int64_t evaluation_k(const RunConfig& config) {
  const auto& in_training = config.train.neighbours;
  return in_training.empty() ? 0 : *std::max_element(in_training.begin(), in_training.end());
}

}  // namespace retro
