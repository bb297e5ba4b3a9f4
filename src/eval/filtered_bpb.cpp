#include "retro/eval/filtered_bpb.h"

#include <cmath>

#include "retro/core/error.h"

namespace retro {

std::vector<int64_t> rows_within(const ChunkFacts& facts, std::span<const int64_t> rows,
                                 double alpha) {
  std::vector<int64_t> kept;
  for (const int64_t row : rows) {
    if (facts.overlap[static_cast<size_t>(row)] <= alpha) kept.push_back(row);
  }
  return kept;
}

LossSum sum_losses(const ChunkLosses& losses, std::span<const int64_t> rows) {
  LossSum sum;
  for (const int64_t row : rows) {
    const double nats = losses.nats[static_cast<size_t>(row)];
    RETRO_CHECK(!std::isnan(nats), "chunk {} was not scored; run `retro eval` again", row);
    sum += {nats, losses.bytes[static_cast<size_t>(row)], 1};
  }
  return sum;
}

int64_t count_documents(const ChunkFacts& facts, std::span<const int64_t> rows) {
  int64_t count = 0;
  int32_t last = -1;
  for (const int64_t row : rows) {
    const int32_t document = facts.document[static_cast<size_t>(row)];
    if (document != last) ++count;
    last = document;
  }
  return count;
}

Interval loss_difference(const ChunkFacts& facts, const ChunkLosses& reference,
                         const ChunkLosses& system, std::span<const int64_t> rows,
                         const BootstrapOptions& options) {
  std::vector<PairedLoss> documents;
  int32_t last = -1;
  for (const int64_t signed_row : rows) {
    const auto row = static_cast<size_t>(signed_row);
    RETRO_CHECK(reference.bytes[row] == system.bytes[row],
                "chunk {}: two passes scored {} and {} bytes; run `retro eval` again", signed_row,
                reference.bytes[row], system.bytes[row]);
    // Rows ascend and a document's rows stand together.
    if (facts.document[row] != last) documents.emplace_back();
    last = facts.document[row];
    documents.back().reference_nats += reference.nats[row];
    documents.back().system_nats += system.nats[row];
    documents.back().bytes += system.bytes[row];
  }
  return paired_bootstrap(documents, options);
}

}  // namespace retro
