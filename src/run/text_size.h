// How much text the sources of a run hold, from the files themselves.
#pragma once

#include <cstdint>
#include <vector>

#include "retro/run/run_config.h"

namespace retro {

/// After max_documents.
struct TextSize {
  double bytes = 0;
  double training_bytes = 0;
  double evaluation_bytes = 0;     ///< capped by eval.max_chunks_per_document
  double database_bytes = 0;       ///< held-out documents included
  std::vector<int64_t> documents;  ///< of each source, before max_documents
};

/// Of 4,096-piece models on English; only estimates use it.
constexpr double kBytesPerToken = 3.6;

/// Reads every document. Throws Error where a file is missing.
TextSize measure_text(const RunConfig& config);

}  // namespace retro
