// Matrix products of any size from packed panels (Goto & van de Geijn 2008; BLIS).
#pragma once

#include "cpu/gemm_problem.h"
#include "cpu/micro_kernel.h"
#include "cpu/pack.h"

namespace retro::cpu {

template <typename M>
struct Gemm {
  using T = typename M::Element;
  using P = typename M::Packed;
  static constexpr int64_t kLanes = Vector<T, M::kBytes>::kLanes;
  static constexpr int64_t kPanel = kBlockVectors * kLanes;
  static constexpr int64_t kRows = kBlockRows<M::kBytes>;

  [[gnu::always_inline]] static inline int64_t steps(int64_t depth) {
    return (depth + M::kDepthStep - 1) / M::kDepthStep;
  }

  /// Columns [begin, end) of a block of the right operand; begin is a multiple of kPanel.
  static void pack_right(const GemmProblem<T>& problem, GemmBlock block, int64_t begin, int64_t end,
                         void* packed) {
    const GemmOperand<T>& right = problem.right;
    const Strip<T> strip{.data = right.data + block.first_depth * right.row_stride +
                                 (block.column + begin) * right.column_stride,
                         .lane_stride = right.column_stride,
                         .depth_stride = right.row_stride,
                         .lanes = problem.columns - block.column - begin,
                         .depth = block.depth};
    const EqualPanels panels{(end - begin + kPanel - 1) / kPanel, kPanel, steps(block.depth)};
    Packer<M>::pack(strip, panels, static_cast<P*>(packed) + begin * panels.steps);
  }

  /// Rows [begin, end) of the left operand times the packed block: packs the rows into `scratch`
  /// (left_bytes(end - begin, block.depth)) first.
  static void multiply(const GemmProblem<T>& problem, GemmBlock block, int64_t begin, int64_t end,
                       const void* packed_right, void* scratch) {
    P* packed_left = static_cast<P*>(scratch);
    const int64_t depth = steps(block.depth);
    const EvenBlocks blocks(end - begin, kRows);
    const GemmOperand<T>& left = problem.left;
    const Strip<T> strip{
        .data = left.data + begin * left.row_stride + block.first_depth * left.column_stride,
        .lane_stride = left.row_stride,
        .depth_stride = left.column_stride,
        .lanes = problem.rows - begin,
        .depth = block.depth};
    Packer<M>::pack(strip, EvenPanels(blocks, depth), packed_left);
    for (int64_t column = 0; column < block.columns; column += kPanel) {
      const P* panel = static_cast<const P*>(packed_right) + column * depth;
      multiply_panel(problem, block, begin, column, blocks, packed_left, panel);
    }
  }

  static int64_t left_bytes(int64_t rows, int64_t depth) {
    return (rows * steps(depth) + kLanes) * static_cast<int64_t>(sizeof(P));
  }
  static int64_t right_bytes(int64_t columns, int64_t depth) {
    return (round_up(columns, kPanel) * steps(depth) + kLanes) * static_cast<int64_t>(sizeof(P));
  }

 private:
  /// What the first block of depth adds to, or the later ones: the sums so far.
  [[gnu::always_inline]] static inline OutTile<T> out_tile(const GemmProblem<T>& problem,
                                                           GemmBlock block, int64_t row,
                                                           int64_t column) {
    T* out = problem.out + row * problem.out_stride + column;
    if (block.first_depth > 0) return {out, problem.out_stride, out, problem.out_stride};
    const T* addend =
        problem.addend == nullptr ? nullptr : problem.addend + row * problem.addend_stride + column;
    return {out, problem.out_stride, addend, problem.addend_stride};
  }

  static void multiply_panel(const GemmProblem<T>& problem, GemmBlock block, int64_t begin,
                             int64_t column, const EvenBlocks& blocks, const P* packed_left,
                             const P* panel) {
    const int64_t depth = steps(block.depth);
    const int64_t columns = block.columns - column < kPanel ? block.columns - column : kPanel;
    for (int64_t i = 0; i < blocks.count; ++i) {
      const int64_t first = blocks.begin(i);
      const int64_t rows = blocks.begin(i + 1) - first;
      const LeftTile<P> left{packed_left + first * depth, 1, rows};
      const OutTile<T> out = out_tile(problem, block, begin + first, block.column + column);
      if (columns == kPanel) {
        block_function<M, kBlockVectors, true>(rows)(depth, left, {panel, kPanel}, out);
      } else {
        multiply_edge(depth, left, panel, rows, columns, out);
      }
    }
  }

  /// A panel of fewer columns: through a full tile on the side.
  static void multiply_edge(int64_t depth, LeftTile<P> left, const P* panel, int64_t rows,
                            int64_t columns, OutTile<T> out) {
    alignas(64) T tile[kRows * kPanel];
    block_function<M, kBlockVectors, true>(rows)(depth, left, {panel, kPanel},
                                                 {tile, kPanel, nullptr, 0});
    for (int64_t i = 0; i < rows; ++i) {
      T* to = out.data + i * out.row_stride;
      for (int64_t j = 0; j < columns; ++j) {
        to[j] = tile[i * kPanel + j] +
                (out.addend == nullptr ? T(0) : out.addend[i * out.addend_stride + j]);
      }
    }
  }
};

}  // namespace retro::cpu
