// A small evaluation: two sources, a database, a random model, and every table.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ATen/ATen.h>

#include "retro/eval/evaluation.h"
#include "retro/model/retro_model.h"

#include "data_layer/tiny_corpus.h"
#include "data_layer/tiny_database.h"

namespace retro::testing {

constexpr int64_t kEvalChunk = 4;
constexpr int64_t kEvalSequence = 4 * kEvalChunk;

inline RetroModel random_model(bool is_baseline, uint64_t seed) {
  ModelConfig config;
  config.vocabulary = ByteTokenizer::kVocabulary;
  config.width = 16;
  config.layers = 3;
  config.heads = 2;
  config.head_width = 8;
  config.chunk_length = kEvalChunk;
  config.cca_layers = is_baseline ? std::vector<int64_t>{} : std::vector<int64_t>{1};
  config.encoder.width = 16;
  config.encoder.layers = 1;
  config.init_std = 0.3;
  return RetroModel(config, seed);
}

/// Evaluated documents of "prose" and "lists"; the database holds variations of them.
class TinyEvaluation {
 public:
  TinyEvaluation()
      : evaluated_(std::vector<TinySource>{
            {"prose",
             {"the cat sat on the mat", "a dog ran", "the bird sang a song of love", "abcd"}},
            {"lists", {"one two three four", "red green blue"}}}),
        stored_(std::vector<TinySource>{{"stored",
                                         {"yy the cat sat on a mat", "the dog ran far away",
                                          "one two three", "blue red green"}}}),
        grid_(evaluated_.grid(kEvalChunk)),
        database_(stored_.grid(kEvalChunk), directory_.path() / "database_root"),
        table_(database_.table(grid_, Exclusion::kDocument, 10, "table")),
        leaked_(database_.table(grid_, Exclusion::kNone, 10, "leaked")),
        group_(database_.table(grid_, Exclusion::kGroup, 10, "group")) {
    for (const int64_t shift : {1, 2}) {
      shifted_grids_.push_back(std::make_unique<ChunkGrid>(evaluated_.grid(kEvalChunk, shift)));
      shifted_tables_.push_back(std::make_unique<NeighbourTable>(database_.table(
          *shifted_grids_.back(), Exclusion::kDocument, 10, "shift" + std::to_string(shift))));
    }
  }

  EvalInputs inputs() const {
    EvalInputs inputs;
    inputs.grid = &grid_;
    inputs.database = &database_.database();
    inputs.table = &table_;
    inputs.group_table = &group_;
    inputs.leaked_table = &leaked_;
    for (size_t i = 0; i < shifted_grids_.size(); ++i) {
      inputs.shifted.push_back({shifted_grids_[i].get(), shifted_tables_[i].get()});
    }
    inputs.end_of_document = ByteTokenizer::kEnd;
    inputs.sequence_length = kEvalSequence;
    inputs.model_hash = "model";
    inputs.baseline_hash = "baseline";
    return inputs;
  }

  static EvalConfig config() {
    EvalConfig config;
    config.neighbours = {2, 1};
    config.shifts = {0, 1, 2};
    config.min_chunks = 3;
    config.min_documents = 1;
    config.max_chunks_per_document = 0;
    config.bootstrap_resamples = 200;
    config.batch_size = 2;
    return config;
  }

  const ChunkGrid& grid() const { return grid_; }
  std::filesystem::path output() const { return directory_.path() / "eval"; }

 private:
  TemporaryDirectory directory_;
  TinyCorpus evaluated_;
  TinyCorpus stored_;
  ChunkGrid grid_;
  TinyDatabase database_;
  NeighbourTable table_;
  NeighbourTable leaked_;
  NeighbourTable group_;
  std::vector<std::unique_ptr<ChunkGrid>> shifted_grids_;
  std::vector<std::unique_ptr<NeighbourTable>> shifted_tables_;
};

}  // namespace retro::testing
