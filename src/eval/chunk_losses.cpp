#include "retro/eval/chunk_losses.h"

#include <limits>

#include "retro/core/error.h"

namespace retro {

namespace {

constexpr double kNotScored = std::numeric_limits<double>::quiet_NaN();

void check_grid(const LossFile& file, const ChunkGrid& grid) {
  RETRO_CHECK(file.description().grid_hash == grid.hash() && file.num_rows() == grid.num_rows(),
              "losses of {}: made from other chunks than these ({} rows, expected {}); run `retro "
              "eval` again",
              file.description().column.name(), file.num_rows(), grid.num_rows());
}

/// Row after the last one of the grid's d-th document.
int64_t end_row(const ChunkGrid& grid, int64_t d) {
  return d + 1 < grid.num_documents() ? grid.first_row(d + 1) : grid.num_rows();
}

/// Loss of every token of a document, NaN where it was not scored.
std::vector<double> document_nats(const LossFile& file, const ChunkGrid& grid, int64_t d,
                                  int64_t num_tokens) {
  std::vector<double> nats(static_cast<size_t>(num_tokens), kNotScored);
  for (int64_t row = grid.first_row(d); row < end_row(grid, d); ++row) {
    const ChunkSpan span = grid.span(row);
    const auto row_nats = file.token_nats(row);
    for (int64_t i = 0; i < span.length; ++i) {
      nats[static_cast<size_t>(span.first_token + i)] =
          static_cast<double>(row_nats[static_cast<size_t>(i)]);
    }
  }
  return nats;
}

}  // namespace

ChunkLosses chunk_losses(const LossFile& file, const ChunkGrid& grid) {
  check_grid(file, grid);
  ChunkLosses losses;
  for (int64_t row = 0; row < grid.num_rows(); ++row) {
    losses.nats.push_back(file.is_scored(row) ? file.nats(row) : kNotScored);
    losses.bytes.push_back(file.bytes(row));
  }
  return losses;
}

ChunkLosses regrouped_losses(const LossFile& file, const ChunkGrid& pass_grid,
                             const ChunkGrid& grid) {
  check_grid(file, pass_grid);
  RETRO_CHECK(pass_grid.documents() == grid.documents() && grid.shift() == 0,
              "losses of {}: the shifted grid holds other documents than the unshifted one",
              file.description().column.name());
  ChunkLosses losses;
  for (int64_t d = 0; d < grid.num_documents(); ++d) {
    const int64_t num_tokens = grid.corpus().document(grid.document(d)).num_tokens;
    const std::vector<double> nats = document_nats(file, pass_grid, d, num_tokens);
    for (int64_t row = grid.first_row(d); row < end_row(grid, d); ++row) {
      const ChunkSpan span = grid.span(row);
      double sum = 0;
      int64_t bytes = 0;
      for (int64_t i = 0; i < span.length; ++i)
        sum += nats[static_cast<size_t>(span.first_token + i)];
      for (const uint16_t token_bytes : grid.token_bytes(row)) bytes += token_bytes;
      losses.nats.push_back(sum);
      losses.bytes.push_back(bytes);
    }
  }
  return losses;
}

}  // namespace retro
