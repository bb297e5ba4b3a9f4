// How text is sampled: every key of the `sample` section.
#pragma once

#include <cstdint>
#include <string>

#include "retro/core/config.h"

namespace retro {

struct SampleConfig {
  std::string prompt;           ///< text; empty: begin a document
  int64_t max_tokens = 256;     ///< generated tokens; end of document ends earlier
  double temperature = 0.8;     ///< 0: greedy
  int64_t top_k = 0;            ///< 0: all
  double top_p = 0.95;          ///< 1: all
  int64_t beams = 1;            ///< above 1: beam search (no sampling)
  double length_penalty = 1.0;  ///< beam search: log-probability / length^this
  bool retrieval = true;
  int64_t neighbours = 2;       ///< k, any
  int64_t sequence_length = 0;  ///< n in tokens; 0: as in training
  int64_t seed = 1;
  void visit_fields(FieldVisitor& visit);
};

/// Throws Error naming the key.
void check_sample_config(const SampleConfig& config);

}  // namespace retro
