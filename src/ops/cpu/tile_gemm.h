// Small matrix products on tiles that stay in the caches.
#pragma once

#include "cpu/vector.h"

namespace retro::cpu {

/// Left operand of a tile product, read element by element: rows and depth at any stride.
template <typename T>
struct LeftTile {
  const T* data;
  int64_t row_stride;
  int64_t depth_stride;
};

/// Register block: kRows x kVectors accumulators, sized for 32 (AVX-512) or 16 registers.
template <int Bytes>
struct RegisterBlock {
  static constexpr int kRows = Bytes == 64 ? 8 : 4;
  static constexpr int kVectors = Bytes == 64 ? 3 : 3;
};

template <typename T, int Bytes, int Rows, int Vectors>
[[gnu::always_inline]] inline void multiply_block(int64_t depth, LeftTile<T> left, const T* right,
                                                  int64_t right_stride, T* out, int64_t out_stride,
                                                  bool accumulate) {
  constexpr int64_t kLanes = Vector<T, Bytes>::kLanes;
  Vec<T, Bytes> sums[Rows][Vectors];
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < Vectors; ++j) {
      sums[i][j] = accumulate ? load<T, Bytes>(out + i * out_stride + j * kLanes) : Vec<T, Bytes>{};
    }
  }
  const T* left_row = left.data;
  for (int64_t k = 0; k < depth; ++k) {
    Vec<T, Bytes> b[Vectors];
#pragma GCC unroll 16
    for (int j = 0; j < Vectors; ++j) b[j] = load<T, Bytes>(right + j * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const T a = left_row[i * left.row_stride];
#pragma GCC unroll 16
      for (int j = 0; j < Vectors; ++j) sums[i][j] += a * b[j];
    }
    left_row += left.depth_stride;
    right += right_stride;
  }
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < Vectors; ++j) {
      store<T, Bytes>(out + i * out_stride + j * kLanes, sums[i][j]);
    }
  }
}

/// The same with a row count that is not a full block.
template <typename T, int Bytes, int Rows, int Vectors>
void multiply_rows(int64_t rows, int64_t depth, LeftTile<T> left, const T* right,
                   int64_t right_stride, T* out, int64_t out_stride, bool accumulate) {
  while (rows >= Rows) {
    multiply_block<T, Bytes, Rows, Vectors>(depth, left, right, right_stride, out, out_stride,
                                            accumulate);
    rows -= Rows;
    left.data += Rows * left.row_stride;
    out += Rows * out_stride;
  }
  if constexpr (Rows > 1) {
    if (rows > 0) {
      multiply_rows<T, Bytes, Rows / 2, Vectors>(rows, depth, left, right, right_stride, out,
                                                 out_stride, accumulate);
    }
  }
}

/// out [rows, columns] (+)= left [rows, depth] x right [depth, columns]. `columns` is a multiple of
/// the vector's lanes (buffers are padded); right and out have contiguous rows.
template <typename T, int Bytes>
void tile_gemm(int64_t rows, int64_t columns, int64_t depth, LeftTile<T> left, const T* right,
               int64_t right_stride, T* out, int64_t out_stride, bool accumulate) {
  using Block = RegisterBlock<Bytes>;
  constexpr int64_t kLanes = Vector<T, Bytes>::kLanes;
  int64_t j = 0;
  for (; j + Block::kVectors * kLanes <= columns; j += Block::kVectors * kLanes) {
    multiply_rows<T, Bytes, Block::kRows, Block::kVectors>(
        rows, depth, left, right + j, right_stride, out + j, out_stride, accumulate);
  }
  if (j + 2 * kLanes <= columns) {
    multiply_rows<T, Bytes, Block::kRows, 2>(rows, depth, left, right + j, right_stride, out + j,
                                             out_stride, accumulate);
    j += 2 * kLanes;
  }
  if (j < columns) {
    multiply_rows<T, Bytes, Block::kRows, 1>(rows, depth, left, right + j, right_stride, out + j,
                                             out_stride, accumulate);
  }
}

}  // namespace retro::cpu
