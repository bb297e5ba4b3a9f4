// Small random models, neighbours made up from a chunk's tokens, and the uncached forward as the
// yardstick.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <ATen/ATen.h>

#include "retro/generate/neighbour_fetcher.h"
#include "retro/model/retro_model.h"

#include "data_layer/tiny_corpus.h"

namespace retro::testing {

constexpr int64_t kChunk = 4;

inline ModelConfig tiny_config() {
  ModelConfig config;
  config.vocabulary = ByteTokenizer::kVocabulary;
  config.width = 16;
  config.layers = 4;
  config.heads = 2;
  config.head_width = 6;
  config.feed_forward = 24;
  config.chunk_length = kChunk;
  config.cca_layers = {1, 3};
  config.encoder.width = 12;
  config.encoder.layers = 2;
  config.init_std = 0.3;
  return config;
}

/// Weights large enough that every part of the model moves the logits; biases and gains are no
/// longer 0 and 1.
inline RetroModel tiny_model(const ModelConfig& config = tiny_config(), uint64_t seed = 7) {
  RetroModel model(config, seed);
  at::manual_seed(seed);
  const at::NoGradGuard no_grad;
  for (auto& parameter : model->named_parameters()) {
    const std::string& name = parameter.key();
    if (name.ends_with("bias")) parameter.value().normal_(0, 0.5);
    if (name.ends_with("norm.weight")) parameter.value().normal_(1, 0.2);
    if (name.find("cross_attention.output") != std::string::npos) parameter.value().normal_(0, 0.3);
  }
  return model;
}

/// Neighbours are a function of the chunk's tokens: up to `k` of them, now and then fewer or none,
/// with short N and empty or short F among them.
class MadeUpNeighbours final : public NeighbourFetcher {
 public:
  std::vector<std::vector<FetchedNeighbour>> fetch(const std::vector<std::vector<int32_t>>& chunks,
                                                   int64_t k) override {
    std::vector<std::vector<FetchedNeighbour>> result;
    for (const auto& chunk : chunks) {
      asked.push_back(chunk);
      result.push_back(neighbours_of(chunk, k));
    }
    return result;
  }

  std::vector<FetchedNeighbour> neighbours_of(const std::vector<int32_t>& chunk, int64_t k) const {
    uint32_t hash = salt;
    for (const int32_t token : chunk) hash = hash * 16777619u + static_cast<uint32_t>(token) + 1;
    std::mt19937 random(hash);
    const int64_t count =
        always_all ? k : std::max<int64_t>(0, k - static_cast<int64_t>(random() % 3));
    std::vector<FetchedNeighbour> result;
    for (int64_t rank = 0; rank < count; ++rank) {
      FetchedNeighbour neighbour;
      neighbour.chunk_id = static_cast<int64_t>(random() % 1000);
      neighbour.distance = static_cast<float>(rank);
      neighbour.title = "title " + std::to_string(neighbour.chunk_id);
      neighbour.value_R.assign(2 * kChunk, -1);
      const bool is_last_of_document = random() % 4 == 0;
      const int64_t length =
          is_last_of_document ? 1 + random() % kChunk : kChunk + 1 + random() % kChunk;
      for (int64_t i = 0; i < length; ++i)
        neighbour.value_R[static_cast<size_t>(i)] = static_cast<int32_t>('a' + random() % 26);
      result.push_back(neighbour);
    }
    return result;
  }

  std::vector<std::vector<int32_t>> asked;
  uint32_t salt = 1;
  bool always_all = false;
};

/// Tokens of a stream (a lead chunk, then the document) or of a window cut out of one.
struct Window {
  std::vector<int32_t> tokens;
  int64_t num_padding = 0;  ///< masked positions at the beginning
};

inline Window stream_of(const std::vector<int32_t>& document) {
  Window window{std::vector<int32_t>(kChunk, ByteTokenizer::kEnd), kChunk - 1};
  window.tokens.insert(window.tokens.end(), document.begin(), document.end());
  return window;
}

/// Logits [N, V] of the ordinary forward. `fetcher` null: retrieval off.
inline at::Tensor full_logits(RetroModel& model, const Window& window,
                              const MadeUpNeighbours* fetcher, int64_t k) {
  const at::NoGradGuard no_grad;
  const auto n = static_cast<int64_t>(window.tokens.size());
  ModelInput input;
  input.tokens_BN =
      at::tensor(at::ArrayRef<int32_t>(window.tokens), at::kInt).to(at::kLong).unsqueeze(0);
  input.real_BN = at::arange(n).ge(window.num_padding).unsqueeze(0);
  input.document_BN =
      at::arange(n).ge(window.num_padding == 0 ? 0 : kChunk).to(at::kLong).unsqueeze(0);
  if (fetcher != nullptr && n >= kChunk && k > 0) {
    input.neighbours_BLKR = at::full({1, n / kChunk, k, 2 * kChunk}, -1, at::kLong);
    for (int64_t c = window.num_padding > 0 ? 1 : 0; c < n / kChunk; ++c) {
      const std::vector<int32_t> chunk(window.tokens.begin() + c * kChunk,
                                       window.tokens.begin() + (c + 1) * kChunk);
      const auto found = fetcher->neighbours_of(chunk, k);
      for (size_t rank = 0; rank < found.size(); ++rank) {
        for (int64_t i = 0; i < 2 * kChunk; ++i) {
          input.neighbours_BLKR[0][c][static_cast<int64_t>(rank)][i] =
              found[rank].value_R[static_cast<size_t>(i)];
        }
      }
    }
  }
  return model->logits(input)[0];
}

inline std::vector<int32_t> random_document(int64_t length, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < length; ++i) tokens.push_back(static_cast<int32_t>('a' + random() % 26));
  return tokens;
}

inline double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

}  // namespace retro::testing
