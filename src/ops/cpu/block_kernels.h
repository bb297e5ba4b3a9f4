// The entry points of matrices stored in blocks (retro/ops/block_matrix.h) on one instruction set.
#pragma once

#include <cstdint>

namespace retro::cpu {

/// out [rows, columns] = left [rows, depth] x blocks [columns, depth]^T for a few rows; `depth` is
/// a multiple of 32, left and out have contiguous rows.
struct BlockProduct {
  int64_t rows;
  int64_t depth;
  const float* left;
  int64_t left_stride;
  const uint8_t* blocks;
  int64_t row_bytes;
  float* out;
  int64_t out_stride;
};

/// Of one format.
struct BlockKernels {
  int64_t block_bytes;  ///< of 32 elements
  void (*decode)(const uint8_t* blocks, int64_t num_blocks, float* out);
  /// Columns [begin, end) of the product.
  void (*multiply)(const BlockProduct& product, int64_t begin, int64_t end);
};

}  // namespace retro::cpu
