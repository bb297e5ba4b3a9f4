#include "retro/eval/overlap.h"

#include <limits>
#include <vector>

#include "retro/core/error.h"
#include "retro/core/parallel.h"
#include "retro/text/longest_run.h"

namespace retro {

namespace {

/// Scratch of one thread.
class OverlapCounter {
 public:
  OverlapCounter(const ChunkGrid& grid, const NeighbourTable& table, const ChunkValues& values)
      : grid_(grid),
        table_(table),
        values_(values),
        value_R_(static_cast<size_t>(2 * values.chunk_length())) {}

  ChunkOverlap count(int64_t row, int64_t num_neighbours) {
    const auto tokens = grid_.tokens(row);
    chunk_.assign(tokens.begin(), tokens.end());
    longest_.set_chunk(chunk_);
    ChunkOverlap overlap;
    overlap.length = static_cast<int32_t>(chunk_.size());
    overlap.nearest_distance = std::numeric_limits<float>::infinity();
    const auto ids = table_.ids(row);
    for (size_t rank = 0; rank < static_cast<size_t>(num_neighbours); ++rank) {
      if (ids[rank] == kMissing) break;
      if (rank == 0) {
        overlap.has_neighbour = true;
        overlap.nearest_distance = table_.distances(row)[0];
      }
      values_.copy_value(ids[rank], value_R_);
      overlap.longest_run = static_cast<int32_t>(longest_.extend(value_R_, overlap.longest_run));
      if (overlap.longest_run == overlap.length) break;
    }
    return overlap;
  }

 private:
  const ChunkGrid& grid_;
  const NeighbourTable& table_;
  const ChunkValues& values_;
  std::vector<int32_t> value_R_;
  std::vector<int32_t> chunk_;
  LongestRun longest_;
};

}  // namespace

ChunkOverlap chunk_overlap(const ChunkGrid& grid, const NeighbourTable& table,
                           const ChunkValues& values, int64_t row, int64_t num_neighbours) {
  return OverlapCounter(grid, table, values).count(row, num_neighbours);
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
    OverlapCounter counter(grid, table, values);
    for (int64_t row = begin; row < end; ++row)
      overlaps[static_cast<size_t>(row)] = counter.count(row, num_neighbours);
  });
  return overlaps;
}

}  // namespace retro
