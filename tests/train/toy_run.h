// A model, a corpus and neighbours small enough to train in a test.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "retro/data/neighbour_source.h"
#include "retro/model/retro_model.h"
#include "retro/train/trainer.h"

#include "data_layer/tiny_corpus.h"

namespace retro::testing {

inline constexpr int64_t kToyChunkLength = 4;

/// d 16, m 4, two layers, chunked cross-attention in the upper one.
inline ModelConfig toy_model_config(bool is_baseline = false) {
  ModelConfig config;
  config.vocabulary = ByteTokenizer::kVocabulary;
  config.width = 16;
  config.layers = 2;
  config.heads = 2;
  config.head_width = 8;
  config.chunk_length = kToyChunkLength;
  config.cca_layers = is_baseline ? std::vector<int64_t>{} : std::vector<int64_t>{1};
  config.encoder.layers = 1;
  config.init_std = 0;
  return config;
}

/// Independent uniform letters: nothing but a neighbour can predict them.
inline std::vector<std::string> letter_texts(int64_t count, int64_t length, int num_letters,
                                             uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::string> texts;
  for (int64_t i = 0; i < count; ++i) {
    std::string text;
    for (int64_t t = 0; t < length; ++t) {
      text += static_cast<char>('a' + random() % static_cast<uint32_t>(num_letters));
    }
    texts.push_back(text);
  }
  return texts;
}

/// A chunk's own text with its true continuation, at every rank.
class OwnNeighbours final : public NeighbourSource {
 public:
  explicit OwnNeighbours(const ChunkGrid& grid) : grid_(grid) {}
  void copy_values(int64_t row, int64_t k, std::span<int32_t> values_KR) const override {
    const auto r = static_cast<size_t>(2 * grid_.chunk_length());
    for (size_t rank = 0; rank < static_cast<size_t>(k); ++rank) {
      copy_own_value(grid_, row, 0, values_KR.subspan(rank * r, r));
    }
  }
  std::string name() const override { return "own"; }

 private:
  const ChunkGrid& grid_;
};

/// Everything `train` reads: training and validation text, a chunk's neighbour is the chunk itself.
class ToyRun {
 public:
  explicit ToyRun(bool is_baseline = false)
      : corpus_({{"train", letter_texts(12, 27, 6, 1), false},
                 {"held", letter_texts(6, 22, 6, 2), true}}),
        train_grid_(corpus_.grid_of(kRoleTrain, kToyChunkLength)),
        validation_grid_(corpus_.grid_of(kRoleValidation, kToyChunkLength)),
        is_baseline_(is_baseline) {}

  /// A fresh model; a resumed run must not depend on its weights.
  TrainInputs inputs(uint64_t model_seed = 1) const {
    TrainInputs inputs;
    inputs.model = RetroModel(toy_model_config(is_baseline_), model_seed);
    inputs.training = {&train_grid_, ByteTokenizer::kEnd, &train_neighbours_, &train_neighbours_};
    inputs.validation_grid = &validation_grid_;
    inputs.validation_neighbours = &validation_neighbours_;
    inputs.data_identity = "toy";
    inputs.gemm_peak = 1e9;
    return inputs;
  }
  const ChunkGrid& train_grid() const { return train_grid_; }
  const ChunkGrid& validation_grid() const { return validation_grid_; }
  const NeighbourSource& validation_neighbours() const { return validation_neighbours_; }
  const std::filesystem::path& directory() const { return corpus_.directory(); }

 private:
  TinyCorpus corpus_;
  ChunkGrid train_grid_;
  ChunkGrid validation_grid_;
  OwnNeighbours train_neighbours_{train_grid_};
  OwnNeighbours validation_neighbours_{validation_grid_};
  bool is_baseline_;
};

/// Ten steps of two micro-batches with every part of the curriculum; an epoch ends after a few
/// steps.
inline TrainConfig toy_train_config() {
  TrainConfig config;
  config.steps = 10;
  config.sequence_length = 12;
  config.batch_size = 3;
  config.accumulation = 2;
  config.neighbours = {1, 2};
  config.self_neighbour = {0.5, 0.5, 2};
  config.useless_neighbours = {0.5, 0.5};
  config.learning_rate = 1e-2;
  config.warmup_steps = 3;
  config.validation_every = 0;
  config.validation_sequences = 4;
  config.checkpoint_every = 0;
  config.log_every = 1;
  config.seed = 5;
  config.precision = "float32";
  config.threads = 1;
  return config;
}

}  // namespace retro::testing
