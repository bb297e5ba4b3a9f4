// From logits to the next token (METHOD section 7).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "retro/core/random.h"
#include "retro/generate/sample_config.h"

namespace retro {

/// Tokens that may be drawn. Probabilities sum to 1; by descending probability (ties by lower id)
/// after top-k or top-p, by id otherwise.
struct TokenChoices {
  std::vector<int32_t> ids;
  std::vector<double> probabilities;
};

/// temperature, softmax, top-k, renormalise, top-p (the smallest prefix whose sum is >= p; the
/// token that crosses is kept), renormalise. Temperature 0 keeps the largest logit alone, the
/// lowest id among equals. Tokens of probability 0 are never kept; a logit that is not a number is
/// an Error.
TokenChoices token_choices(std::span<const float> logits_V, const SampleConfig& config);

int32_t draw_token(const TokenChoices& choices, RandomStream& random);

/// log of the sum of exp(logits), in double: log-probability of token v = logits[v] - this.
double log_sum_exp(std::span<const float> logits_V);

}  // namespace retro
