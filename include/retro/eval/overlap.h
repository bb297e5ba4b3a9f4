// Overlap of evaluation chunks with their neighbours (METHOD section 6, filtered bpb).
#pragma once

#include <cstdint>
#include <vector>

#include "retro/retrieval/chunk_values.h"
#include "retro/retrieval/neighbour_table.h"
#include "retro/text/chunker.h"

namespace retro {

/// What retrieval gave one chunk of the grid.
struct ChunkOverlap {
  int32_t longest_run =
      0;  ///< s: longest token run common to the chunk and the value [N, F] of any neighbour
  int32_t length = 0;          ///< |C|
  float nearest_distance = 0;  ///< squared L2 of rank 0; +infinity without a neighbour
  bool has_neighbour = false;
  double ratio() const {
    return length == 0 ? 0.0 : static_cast<double>(longest_run) / length;
  }  ///< r(C)
};

/// s of one row against its first `num_neighbours` of `table`.
ChunkOverlap chunk_overlap(const ChunkGrid& grid, const NeighbourTable& table,
                           const ChunkValues& values, int64_t row, int64_t num_neighbours);

/// s of every row of the grid against its first `num_neighbours` of `table`. Values may be of any
/// database whose ids the table holds. Runs on `num_threads` threads; the result does not depend on
/// their number.
std::vector<ChunkOverlap> chunk_overlaps(const ChunkGrid& grid, const NeighbourTable& table,
                                         const ChunkValues& values, int64_t num_neighbours,
                                         int num_threads);

}  // namespace retro
