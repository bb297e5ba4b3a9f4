#include "retro/eval/overlap.h"

#include <algorithm>
#include <limits>

#include "retro/core/error.h"
#include "retro/core/parallel.h"
#include "retro/text/common_run.h"

namespace retro {

ChunkOverlap chunk_overlap(const ChunkGrid& grid, const NeighbourTable& table,
                           const ChunkValues& values, int64_t row, int64_t num_neighbours) {
  std::vector<int32_t> value_R(static_cast<size_t>(2 * values.chunk_length()));
  const auto tokens = grid.tokens(row);
  const std::vector<int32_t> chunk(tokens.begin(), tokens.end());
  ChunkOverlap overlap;
  overlap.length = static_cast<int32_t>(chunk.size());
  overlap.nearest_distance = std::numeric_limits<float>::infinity();
  RunMatcher matcher(chunk);
  const auto ids = table.ids(row);
  for (size_t rank = 0; rank < static_cast<size_t>(num_neighbours); ++rank) {
    if (ids[rank] == kMissing) break;
    if (rank == 0) {
      overlap.has_neighbour = true;
      overlap.nearest_distance = table.distances(row)[0];
    }
    values.copy_value(ids[rank], value_R);
    overlap.longest_run =
        std::max(overlap.longest_run, static_cast<int32_t>(matcher.longest_run(value_R)));
    if (overlap.longest_run == overlap.length) break;
  }
  return overlap;
}

std::vector<ChunkOverlap> chunk_overlaps(const ChunkGrid& grid, const NeighbourTable& table,
                                         const ChunkValues& values, int64_t num_neighbours,
                                         int num_threads) {
  RETRO_CHECK(table.num_rows() == grid.num_rows(),
              "neighbour table: it has {} rows, the chunk grid {}: rebuild it", table.num_rows(),
              grid.num_rows());
  RETRO_CHECK(table.num_neighbours() >= num_neighbours,
              "neighbour table: overlap needs {} neighbours per chunk, the table holds {}; set "
              "neighbours.count",
              num_neighbours, table.num_neighbours());
  std::vector<ChunkOverlap> overlaps(static_cast<size_t>(grid.num_rows()));
  parallel_for(grid.num_rows(), num_threads, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      overlaps[static_cast<size_t>(row)] = chunk_overlap(grid, table, values, row, num_neighbours);
    }
  });
  return overlaps;
}

}  // namespace retro
