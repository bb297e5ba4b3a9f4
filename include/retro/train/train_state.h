// Where a training run stands: trainer.json of a checkpoint.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace retro {

/// Everything a resumed run needs beside weights and optimizer state. All random streams are named
/// and indexed (core/random.h), so `seed` and `micro_step` are their whole state.
struct TrainState {
  int64_t step = 0;        ///< optimizer steps done
  int64_t micro_step = 0;  ///< data position: micro-batches read
  int64_t tokens = 0;      ///< real targets read
  int64_t seed = 0;
  double seconds = 0;                ///< spent in training steps, over all processes
  std::string data_identity;         ///< of corpus grid and neighbour table
  std::optional<double> validation;  ///< bits per byte at this step, if validated
};

std::string train_state_json(const TrainState& state);
/// Throws Error naming the file and the key.
TrainState read_train_state(const std::filesystem::path& path);

}  // namespace retro
