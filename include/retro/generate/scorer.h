// A text's losses with retrieval off and on, token by token (`retro score`).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "retro/generate/generator.h"

namespace retro {

struct ScoredText {
  std::vector<int32_t> tokens;
  std::vector<double> nats_off;
  std::vector<double> nats_on;  ///< empty without a fetcher
  /// 1 where the token is the model's first choice (no other has a higher logit).
  std::vector<uint8_t> is_first_choice_off, is_first_choice_on;
  std::vector<ChunkView> chunks;  ///< with the neighbours each could read
};

/// The text is laid out as a document in a stream (lead chunk first); every token is scored once.
ScoredText score_text(RetroModel& model, const GeneratorOptions& options,
                      std::span<const int32_t> tokens);

}  // namespace retro
