// A training run from a configuration to its checkpoints.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "retro/data/training_dataset.h"
#include "retro/train/checkpoint.h"
#include "retro/train/metrics.h"
#include "retro/train/validation.h"

namespace retro {

/// What a run trains and reads; everything outlives the call. For a baseline (a model without
/// cca_layers) the neighbour sources are not read.
struct TrainInputs {
  RetroModel model{nullptr};
  TrainingSources training;
  const ChunkGrid* validation_grid = nullptr;  ///< null: no validation
  const NeighbourSource* validation_neighbours = nullptr;
  int64_t validation_k = 0;  ///< 0: the largest of train.neighbours
  /// Names corpus and neighbour tables: a resumed run must have the same.
  std::string data_identity;
  /// With a frozen base: what it computes below the first retro layer is kept in frozen.cache and
  /// every epoch is packed like the first (FrozenCache).
  bool cache_frozen = false;
  /// FLOP/s of this machine in the training's precision; 0: measured at the start, which takes a
  /// second.
  double gemm_peak = 0;
  /// Asked after every optimizer step; true saves a checkpoint and ends the run. May be empty:
  /// SIGINT and SIGTERM are watched in any case.
  std::function<bool()> should_stop;
};

enum class TrainOutcome { kFinished, kInterrupted };

struct TrainResult {
  TrainOutcome outcome = TrainOutcome::kFinished;
  int64_t step = 0;
  int64_t total_steps = 0;
  int64_t tokens = 0;
  double seconds = 0;
  double loss = 0;                              ///< of the last step
  std::optional<ValidationMetrics> validation;  ///< the last one
  std::filesystem::path checkpoint;             ///< the last one
};

/// Trains below `directory` (checkpoints/, metrics.jsonl). Goes on at the newest checkpoint there,
/// exactly (bit for bit on the CPU at a fixed thread count); refuses one of another configuration
/// or other data, naming the key. Throws Error when the loss is not finite, naming the step and the
/// last good checkpoint.
TrainResult train(const TrainConfig& config, const TrainInputs& inputs,
                  const std::filesystem::path& directory);

/// Optimizer steps of a configuration: `steps`, or those of `epochs` passes.
int64_t total_steps(const TrainConfig& config, const TrainingDataset& dataset);

}  // namespace retro
