// Prompt in, text out, with live retrieval and a key/value cache (METHOD section 7).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "retro/generate/chunk_view.h"
#include "retro/generate/neighbour_fetcher.h"
#include "retro/generate/sample_config.h"
#include "retro/model/retro_model.h"

namespace retro {

/// Called as generation goes; any of them may be empty. `row` is the prompt's number.
struct GenerationEvents {
  /// A generated token and the whole characters it completes (empty in the middle of one).
  std::function<void(int64_t row, int32_t token, const std::string& text)> on_token;
  /// A chunk is complete, or generation ended inside it.
  std::function<void(int64_t row, const ChunkView& chunk)> on_chunk;
};

struct Generation {
  std::vector<int32_t> tokens;            ///< generated, without the end-of-document token
  std::vector<double> log_probabilities;  ///< of each under the unfiltered model
  std::string text;
  std::vector<ChunkView> chunks;  ///< prompt chunks included
  bool reached_end_of_document = false;
  double seconds = 0;  ///< of the whole call
};

/// What a generator needs beside the model; nothing is owned. `fetcher` null: retrieval off.
struct GeneratorOptions {
  const Tokenizer* tokenizer = nullptr;
  NeighbourFetcher* fetcher = nullptr;
  int64_t window_length = 0;  ///< n: a multiple of m, at least 2 m
  int64_t neighbours = 2;     ///< k
};

class Generator {
 public:
  Generator(RetroModel model, const GeneratorOptions& options);
  ~Generator();

  /// One continuation per prompt (token ids, any length; empty begins a document), sampled, or
  /// found by beam search where config.beams > 1. Row i draws from random stream i: its text does
  /// not depend on the other prompts. k and the window come from the options. Ends at the
  /// end-of-document token or after config.max_tokens.
  std::vector<Generation> generate(const std::vector<std::vector<int32_t>>& prompts,
                                   const SampleConfig& config, const GenerationEvents& events = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace retro
