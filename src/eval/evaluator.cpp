#include "retro/eval/evaluator.h"

#include <cmath>

#include <ATen/core/Tensor.h>
#include <c10/core/InferenceMode.h>

#include "retro/core/error.h"
#include "retro/core/progress.h"
#include "retro/eval/row_groups.h"
#include "retro/ops/linear_cross_entropy.h"

namespace retro {

namespace {

/// Sequences with at least one wanted target. A sequence's last position predicts the first token
/// of the next sequence's first chunk, so targets decide, not chunks.
std::vector<int64_t> wanted_sequences(const EvaluationDataset& dataset,
                                      int64_t max_chunks_per_document) {
  std::vector<int64_t> wanted;
  for (int64_t sequence = 0; sequence < dataset.num_sequences(); ++sequence) {
    if (max_chunks_per_document == 0) {
      wanted.push_back(sequence);
      continue;
    }
    const Batch batch = dataset.batch(sequence, 1, nullptr, 0);
    const int64_t* rows = batch.target_row_BN.const_data_ptr<int64_t>();
    for (int64_t p = 0; p < batch.target_row_BN.numel(); ++p) {
      if (rows[p] >= 0 && is_row_wanted(dataset.grid(), rows[p], max_chunks_per_document)) {
        wanted.push_back(sequence);
        break;
      }
    }
  }
  return wanted;
}

/// Nats of every position of the batch, on the CPU; 0 where no target is scored.
at::Tensor batch_losses(RetroModel& model, const Batch& batch) {
  const at::Tensor hidden_BND =
      model->hidden({batch.tokens_BN, batch.real_BN, batch.neighbours_BLKR, batch.document_BN, {}});
  const at::Device device = hidden_BND.device();
  return token_losses(hidden_BND.flatten(0, 1), model->output_weight(),
                      batch.targets_BN.flatten().to(device),
                      batch.target_is_real_BN.flatten().to(device), model->precision())
      .cpu()
      .contiguous();
}

/// Adds the batch's wanted targets, which stand in stream order.
int64_t store_losses(const Batch& batch, const at::Tensor& nats_T, const ChunkGrid& grid,
                     int64_t max_chunks, LossFileWriter& writer) {
  const int64_t* rows = batch.target_row_BN.const_data_ptr<int64_t>();
  const int32_t* bytes = batch.target_bytes_BN.const_data_ptr<int32_t>();
  const float* nats = nats_T.const_data_ptr<float>();
  int64_t stored = 0;
  for (int64_t p = 0; p < nats_T.numel(); ++p) {
    if (rows[p] < 0 || !is_row_wanted(grid, rows[p], max_chunks)) continue;
    RETRO_CHECK(std::isfinite(nats[p]),
                "the loss of a token of chunk {} is {}: the model's weights are broken", rows[p],
                nats[p]);
    writer.add(rows[p], nats[p], bytes[p]);
    ++stored;
  }
  return stored;
}

}  // namespace

int64_t evaluate_losses(RetroModel& model, const EvaluationDataset& dataset,
                        const NeighbourSource* source, const LossDescription& description,
                        const PassOptions& options, const std::filesystem::path& path) {
  if (is_loss_file_current(path, description)) return 0;
  const c10::InferenceMode inference;
  model->eval();
  const ChunkGrid& grid = dataset.grid();
  const auto wanted = wanted_sequences(dataset, options.max_chunks_per_document);
  const auto count = static_cast<int64_t>(wanted.size());
  const int64_t tokens_per_sequence = description.sequence_length;
  Progress progress(options.label.empty() ? description.column.name() : options.label,
                    count * tokens_per_sequence, "tokens");
  int64_t scored = 0;
  write_loss_file(path, description, grid.num_rows(), [&](LossFileWriter& writer) {
    for (int64_t first = 0; first < count; first += options.batch_size) {
      const int64_t size = std::min(options.batch_size, count - first);
      const std::span<const int64_t> sequences(wanted.data() + first, static_cast<size_t>(size));
      const Batch batch =
          dataset.batch(sequences, source, source == nullptr ? 0 : description.column.k);
      scored += store_losses(batch, batch_losses(model, batch), grid,
                             options.max_chunks_per_document, writer);
      progress.update((first + size) * tokens_per_sequence);
    }
  });
  return scored;
}

}  // namespace retro
