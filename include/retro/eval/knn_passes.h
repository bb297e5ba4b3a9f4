// The passes behind kNN-LM: database text into a datastore, evaluation text against it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "retro/core/array_file.h"
#include "retro/data/retro_dataset.h"
#include "retro/eval/knn_lm.h"
#include "retro/model/retro_model.h"
#include "retro/retrieval/vector_index.h"

namespace retro {

/// A model over a text, with the neighbours it reads (null: retrieval off). Nothing is owned.
struct KnnPass {
  RetroModel* model = nullptr;
  const EvaluationDataset* dataset = nullptr;
  const NeighbourSource* source = nullptr;
  int64_t k = 0;
  int64_t batch_size = 4;
  std::string label;  ///< progress line
};

/// States (float32, decoder width) and the tokens that followed them (int32), memory-mapped.
class Datastore {
 public:
  /// Runs the pass over the database's text and writes `directory` atomically, unless it already
  /// answers `made_from` (a hash of model, text and neighbours). Every real target is one entry,
  /// its key the final hidden state (after the last norm) that predicts it.
  Datastore(const KnnPass& pass, const std::string& made_from,
            const std::filesystem::path& directory);
  const ArrayFile& states() const { return states_; }
  int32_t token(int64_t entry) const {
    return tokens_.values<int32_t>()[static_cast<size_t>(entry)];
  }
  int64_t num_entries() const { return static_cast<int64_t>(states_.rows()); }

 private:
  ArrayFile states_;
  ArrayFile tokens_;
};

/// Losses of every wanted target (see is_row_wanted) and what its nearest stored states say.
KnnTokens look_up(const KnnPass& pass, const Datastore& datastore, const VectorIndex& index,
                  const KnnConfig& config, int64_t max_chunks_per_document, int num_threads);

}  // namespace retro
