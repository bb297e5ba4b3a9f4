// Accuracy on the last word of passages, as LAMBADA measures it (Paperno et al., arXiv 1606.06031).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "retro/generate/scorer.h"

namespace retro {

/// First token of the last word of `text`: the token that holds the byte after the last ASCII white
/// space. `bytes` are the source bytes of each token. White space at the end is no part of the
/// passage: strip it before. Throws Error for a text without a word.
size_t first_token_of_last_word(std::string_view text, std::span<const uint16_t> bytes);

/// One passage, retrieval off and on. A word counts as right when each of its tokens is the model's
/// first choice after the true tokens before it.
struct LastWord {
  std::string word;
  double nats_off = 0;
  std::optional<double> nats_on;  ///< absent where nothing is retrieved
  bool is_right_off = false;
  std::optional<bool> is_right_on;
};

/// Figures of retrieval on are NaN unless every passage has them.
struct LastWordSummary {
  int64_t passages = 0;
  double accuracy_off = 0, accuracy_on = 0;
  double perplexity_off = 0, perplexity_on = 0;  ///< exp(mean nats of the last word)
};

LastWord score_last_word(RetroModel& model, const GeneratorOptions& options,
                         const std::string& passage);
LastWordSummary summarise_last_words(std::span<const LastWord> words);

}  // namespace retro
