// Small matrix products on tiles that stay in the caches.
#pragma once

#include "cpu/micro_kernel.h"

namespace retro::cpu {

/// `data` as a place to write, or with kAdd to add to.
template <bool kAdd, typename T>
[[gnu::always_inline]] inline OutTile<T> tile_at(T* data, int64_t row_stride) {
  return {data, row_stride, kAdd ? data : nullptr, row_stride};
}

template <typename T, int Bytes, bool kUnitRows>
[[gnu::always_inline]] inline void tile_gemm_blocks(int64_t rows, int64_t columns, int64_t depth,
                                                    LeftTile<T> left, RightTile<T> right,
                                                    OutTile<T> out) {
  using M = NativeMultiplier<T, Bytes>;
  constexpr int64_t kLanes = Vector<T, Bytes>::kLanes;
  const EvenBlocks blocks(rows, kBlockRows<Bytes>);
  for (int64_t j = 0; j < columns; j += kBlockVectors * kLanes) {
    const bool is_half = columns - j < kBlockVectors * kLanes;
    for (int64_t block = 0; block < blocks.count; ++block) {
      const int64_t row = blocks.begin(block);
      const int64_t count = blocks.begin(block + 1) - row;
      const auto multiply = is_half ? block_function<M, 1, kUnitRows>(count)
                                    : block_function<M, kBlockVectors, kUnitRows>(count);
      multiply(depth, {left.data + row * left.row_stride, left.row_stride, left.depth_stride},
               {right.data + j, right.depth_stride},
               {out.data + row * out.row_stride + j, out.row_stride,
                out.addend == nullptr ? nullptr : out.addend + row * out.addend_stride + j,
                out.addend_stride});
    }
  }
}

/// out [rows, columns] = addend + left [rows, depth] x right [depth, columns]. `columns` is a
/// multiple of the vector's lanes (buffers are padded); right and out have contiguous rows.
template <typename T, int Bytes>
void tile_gemm(int64_t rows, int64_t columns, int64_t depth, LeftTile<T> left, RightTile<T> right,
               OutTile<T> out) {
  if (left.row_stride == 1) {
    tile_gemm_blocks<T, Bytes, true>(rows, columns, depth, left, right, out);
  } else {
    tile_gemm_blocks<T, Bytes, false>(rows, columns, depth, left, right, out);
  }
}

}  // namespace retro::cpu
