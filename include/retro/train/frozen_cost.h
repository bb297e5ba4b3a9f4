// Is it cheaper to compute the frozen layers again in every epoch, or to read what they gave?
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "retro/data/batch.h"
#include "retro/model/retro_model.h"

namespace retro {

/// Seconds and bytes are those of one sequence.
struct FrozenCost {
  double compute_seconds = 0;
  double write_seconds = 0;
  double read_seconds = 0;  ///< from the disk itself, not from the system's page cache
  int64_t bytes = 0;
  int64_t distinct = 0;  ///< sequences of an epoch
  int64_t drawn = 0;     ///< sequences of the whole training

  double seconds_without_cache() const;
  double seconds_with_cache() const;
  bool cache_is_cheaper() const { return seconds_with_cache() < seconds_without_cache(); }
  /// One line for the log: both costs, the disk space, the advice.
  std::string describe() const;
};

/// Times the frozen layers on `sample` and the disk of `directory` (16 MiB are written there and
/// removed); under two seconds.
FrozenCost measure_frozen_cost(RetroModel& model, const Batch& sample,
                               const std::filesystem::path& directory);

}  // namespace retro
