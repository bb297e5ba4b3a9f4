#include "retro/train/trainer.h"

#include <algorithm>

#include <ATen/Parallel.h>

#include "retro/core/error.h"
#include "retro/train/training_step.h"

#include "training_run.h"

namespace retro {

int64_t total_steps(const TrainConfig& config, const TrainingDataset& dataset) {
  if (config.steps > 0) return config.steps;
  const int64_t sequences = dataset.num_sequences(config.epochs);
  const int64_t micro_batches = (sequences + config.batch_size - 1) / config.batch_size;
  return num_updates(micro_batches, config.accumulation);
}

namespace {

void check_inputs(const TrainConfig& config, const TrainInputs& inputs) {
  const ModelConfig& model = inputs.model->config();
  const int64_t m = inputs.training.grid->chunk_length();
  RETRO_CHECK(model.chunk_length == m,
              "model.chunk_length is {}, but the training text is cut into chunks of {}",
              model.chunk_length, m);
  const bool is_baseline = model.cca_layers.empty();
  const bool needs_neighbours =
      !is_baseline && *std::max_element(config.neighbours.begin(), config.neighbours.end()) > 0;
  RETRO_CHECK(!needs_neighbours || inputs.training.neighbours != nullptr,
              "train.neighbours asks for neighbours, but there is no neighbour table of the "
              "training text");
  if (config.validation_every == 0) return;
  RETRO_CHECK(inputs.validation_grid != nullptr && inputs.validation_grid->num_rows() > 0,
              "train.validation_every is {}, but there is no validation text: raise "
              "validation_share of a source, or set train.validation_every=0",
              config.validation_every);
  RETRO_CHECK(is_baseline || inputs.validation_neighbours != nullptr,
              "train.validation_every is {}, but there is no neighbour table of the validation "
              "text",
              config.validation_every);
}

}  // namespace

TrainResult train(const TrainConfig& config, const TrainInputs& inputs,
                  const std::filesystem::path& directory) {
  config.check(inputs.training.grid->chunk_length());
  check_inputs(config, inputs);
  if (config.threads > 0) at::set_num_threads(static_cast<int>(config.threads));
  RetroModel model = inputs.model;
  model->set_precision(resolve_precision(config.precision, model->device()));
  model->set_recompute(config.recompute == "block" ? Recompute::kBlock : Recompute::kNone);
  TrainConfig effective = config;
  effective.precision = precision_name(model->precision());
  std::filesystem::create_directories(directory);
  return TrainingRun(effective, inputs, directory).run();
}

}  // namespace retro
