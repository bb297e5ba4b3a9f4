// Losses of several passes brought onto one grid of chunks, the normal one, so that every figure is
// about the same text.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "retro/eval/loss_file.h"
#include "retro/text/chunker.h"

namespace retro {

/// Sums per chunk of the unshifted grid.
struct ChunkLosses {
  std::vector<double> nats;  ///< NaN where the chunk was not scored
  std::vector<int64_t> bytes;
};

/// The pass's own rows; the end-of-document token's nats belong to its chunk.
ChunkLosses chunk_losses(const LossFile& file, const ChunkGrid& grid);

/// Tokens of a pass over `pass_grid` (shifted or not) summed by the chunk of `grid` they stand in,
/// end-of-document tokens left out (a shift moves, makes and removes them): the same tokens at
/// every shift. Both grids hold the same documents. A chunk counts as scored if all its tokens
/// were.
ChunkLosses regrouped_losses(const LossFile& file, const ChunkGrid& pass_grid,
                             const ChunkGrid& grid);

}  // namespace retro
