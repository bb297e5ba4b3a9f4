// One pass of a model over an evaluation set: the loss of every token (METHOD section 6).
#pragma once

#include <cstdint>
#include <filesystem>

#include "retro/data/retro_dataset.h"
#include "retro/eval/loss_file.h"
#include "retro/model/retro_model.h"

namespace retro {

/// How a pass is run; `max_chunks_per_document` of 0 scores everything.
struct PassOptions {
  int64_t batch_size = 4;
  int64_t max_chunks_per_document = 0;
  std::string label;  ///< progress line
};

/// Runs `model` over `dataset` with the neighbours of `source` (null: retrieval off) and writes
/// `path`. Sequences without a wanted chunk are skipped: a chunk is wanted if it begins within the
/// first max_chunks_per_document * m tokens of its document (is_row_wanted: the same tokens on
/// every shifted grid). Every wanted target is scored once. A file that already answers
/// `description` is left as it is. Returns the number of scored tokens. Throws Error for a loss
/// that is not finite.
int64_t evaluate_losses(RetroModel& model, const EvaluationDataset& dataset,
                        const NeighbourSource* source, const LossDescription& description,
                        const PassOptions& options, const std::filesystem::path& path);

}  // namespace retro
