// The likeliest continuation among several kept side by side.
#pragma once

#include <cstdint>
#include <vector>

#include "retro/generate/sample_config.h"

#include "document_state.h"

namespace retro {

struct Hypothesis {
  DocumentState document;
  std::vector<int32_t> tokens;            ///< generated, the end-of-document token left out
  std::vector<double> log_probabilities;  ///< of each, and of the end where it was reached
  at::Tensor logits_V;
  bool has_ended = false;
  double sum() const;
  /// sum / length^penalty, the end counted.
  double score(double length_penalty) const;
};

/// Keeps the `config.beams` likeliest beginnings at every step; ended ones are set aside. Stops
/// when that many have ended or after config.max_tokens, and returns the best by score.
Hypothesis beam_search(CachedDecoder& decoder, DocumentState document, const at::Tensor& logits_V,
                       const SampleConfig& config, int32_t end_of_document);

}  // namespace retro
