// Bits per byte over chunks with little overlap (METHOD section 6, [R] section 2.6).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "retro/eval/bits_per_byte.h"
#include "retro/eval/bootstrap.h"
#include "retro/eval/chunk_losses.h"

namespace retro {

/// Facts of the chunks under evaluation, independent of any system; one entry per row of the normal
/// grid.
struct ChunkFacts {
  std::vector<int32_t> document;  ///< grid document
  std::vector<double> overlap;    ///< r(C)
};

/// Rows (ascending) with r(C) <= alpha among `rows`.
std::vector<int64_t> rows_within(const ChunkFacts& facts, std::span<const int64_t> rows,
                                 double alpha);

/// Sum over `rows`; all of them must have been scored.
LossSum sum_losses(const ChunkLosses& losses, std::span<const int64_t> rows);

/// Number of distinct documents of `rows`.
int64_t count_documents(const ChunkFacts& facts, std::span<const int64_t> rows);

/// Interval of bpb(reference) - bpb(system) over `rows`, by document.
Interval loss_difference(const ChunkFacts& facts, const ChunkLosses& reference,
                         const ChunkLosses& system, std::span<const int64_t> rows,
                         const BootstrapOptions& options);

}  // namespace retro
