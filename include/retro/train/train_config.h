// Everything a training run can be told. Every key is read by some code.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "retro/core/config.h"
#include "retro/data/curriculum.h"

namespace retro {

/// The `train` section of a configuration. The defaults are the paper's where METHOD section 4
/// states them.
struct TrainConfig {
  int64_t steps = 0;              ///< optimizer steps; 0: `epochs` decides
  int64_t epochs = 0;             ///< passes over the training text; 0: `steps` decides
  int64_t sequence_length = 256;  ///< n, a multiple of model.chunk_length
  int64_t batch_size = 2;         ///< sequences of a micro-batch
  int64_t accumulation = 1;       ///< micro-batches of an optimizer step
  std::vector<int64_t> neighbours = {2};
  SelfNeighbourConfig self_neighbour;
  UselessNeighboursConfig useless_neighbours;
  std::map<std::string, double> sources;

  double learning_rate = 2e-4;
  int64_t warmup_steps = 750;
  double final_learning_rate_ratio = 0.1;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double weight_decay = 0.1;
  double clip = 1.0;  ///< largest gradient norm; 0: no clipping

  int64_t validation_every = 250;  ///< optimizer steps; 0: no validation
  int64_t validation_sequences = 64;
  int64_t checkpoint_every = 1000;  ///< optimizer steps; 0: only at the end
  int64_t keep_last = 2;
  int64_t log_every = 10;

  int64_t seed = 0;
  std::string precision = "auto";
  std::string recompute = "none";
  int64_t threads = 0;  ///< of matrix products; 0: as the process has them
  std::string thread_share = "auto";
  int64_t data_threads = 1;
  void visit_fields(FieldVisitor& visit);

  /// Throws Error naming the key ("train.sequence_length ...") for a value out of range or a
  /// contradiction.
  void check(int64_t chunk_length) const;
};

/// Names of the keys with which a training goes on, and a finished one is kept, when they change
/// (validation_every, validation_sequences, checkpoint_every, keep_last, log_every, threads,
/// thread_share, data_threads, precision, recompute). They do not alter what a step computes beyond
/// rounding; validation and checkpoint keys do decide which checkpoint is kept as the best one.
const std::set<std::string>& harmless_keys();
/// Names of the keys in which two configurations differ, the harmless ones aside.
std::vector<std::string> changed_keys(const TrainConfig& before, const TrainConfig& now);
/// What decides the result, a line "key: value" each: harmless keys and those that have their
/// default are left out, so that a new key makes nothing stale. A default that changes must be
/// told by the stage's format version.
std::string decisive_text(const TrainConfig& config);

}  // namespace retro
