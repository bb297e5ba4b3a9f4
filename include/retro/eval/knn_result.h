// The table of kNN-LM: models alone and with a datastore.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "retro/core/json.h"
#include "retro/eval/bootstrap.h"
#include "retro/eval/knn_lm.h"

namespace retro {

/// A model alone or with its datastore.
struct KnnSystem {
  std::string name;
  std::string distances;  ///< "none" | "approximate" | "exact"
  KnnSetting setting;
  double validation_bits_per_byte = 0;  ///< of what lambda and scale were tuned on; NaN: no text
  double bits_per_byte = 0;
  Interval gain;  ///< against the first system
};

struct KnnResult {
  std::string split = "test";  ///< what bits_per_byte is of
  int64_t entries = 0;         ///< states of the datastore
  std::string index;
  int64_t neighbours = 0;
  int64_t tokens = 0;  ///< scored
  std::vector<KnnSystem> systems;
};

/// What a reader must know of the tuning: the scored text is the one tuned on, or there was none.
/// Empty where neither.
std::string tuning_note(const KnnResult& result);

/// eval/knn.json (docs/formats.md).
nlohmann::json knn_json(const KnnResult& result);
/// The table for a terminal.
std::string format_knn(const KnnResult& result);

}  // namespace retro
