// Fixed blocks of rows: sums over rows that do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstdint>

namespace retro {

/// Rows cut into at most 32 blocks of at least 64; the cut follows from the row count alone.
struct RowBlocks {
  explicit RowBlocks(int64_t row_count)
      : rows(row_count), count(std::clamp<int64_t>(row_count / 64, 1, 32)) {}

  int64_t begin(int64_t block) const { return rows * block / count; }
  int64_t end(int64_t block) const { return begin(block + 1); }

  int64_t rows;
  int64_t count;
};

}  // namespace retro
