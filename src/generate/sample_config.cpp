#include "retro/generate/sample_config.h"

#include "retro/core/error.h"

namespace retro {

void SampleConfig::visit_fields(FieldVisitor& visit) {
  visit("prompt", prompt, "text to continue; empty: begin a document");
  visit("max_tokens", max_tokens, "tokens to generate; the end of the document comes earlier");
  visit("temperature", temperature, "0: always the likeliest token");
  visit("top_k", top_k, "only the so many likeliest tokens; 0: all");
  visit("top_p", top_p, "only the fewest tokens whose probabilities reach this; 1: all");
  visit("beams", beams, "above 1: beam search instead of sampling");
  visit("length_penalty", length_penalty, "beam search: log-probability / length^this");
  visit("retrieval", retrieval, "read neighbours; false: the model alone");
  visit("neighbours", neighbours, "k, neighbours read per chunk");
  visit("sequence_length", sequence_length, "tokens of the window; 0: as in training");
  visit("seed", seed, "of the draws");
}

void check_sample_config(const SampleConfig& config) {
  RETRO_CHECK(config.max_tokens >= 0, "sample.max_tokens is {}: it must be at least 0",
              config.max_tokens);
  RETRO_CHECK(config.temperature >= 0,
              "sample.temperature is {}: it must be at least 0 (0 is greedy)", config.temperature);
  RETRO_CHECK(config.top_k >= 0, "sample.top_k is {}: it must be at least 0 (0 keeps all)",
              config.top_k);
  RETRO_CHECK(config.top_p > 0 && config.top_p <= 1, "sample.top_p is {}: it must lie in (0, 1]",
              config.top_p);
  RETRO_CHECK(config.beams >= 1, "sample.beams is {}: it must be at least 1", config.beams);
  RETRO_CHECK(config.neighbours >= 0, "sample.neighbours is {}: it must be at least 0",
              config.neighbours);
}

}  // namespace retro
