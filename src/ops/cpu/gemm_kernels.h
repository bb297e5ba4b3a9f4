// The entry points of a matrix product in one element type on one instruction set.
#pragma once

#include "cpu/gemm_problem.h"

namespace retro::cpu {

template <typename T>
struct GemmKernels {
  int64_t panel_columns;  ///< pack_right's `begin` is a multiple of it
  int64_t block_rows;     ///< rows of the micro kernel: multiply is best at multiples of it
  int64_t depth_step;     ///< elements of depth in one packed element of 4 bytes (8 in float64)
  int64_t (*right_bytes)(int64_t columns, int64_t depth);
  int64_t (*left_bytes)(int64_t rows, int64_t depth);
  void (*pack_right)(const GemmProblem<T>&, GemmBlock, int64_t begin, int64_t end, void* packed);
  void (*multiply)(const GemmProblem<T>&, GemmBlock, int64_t begin, int64_t end,
                   const void* packed_right, void* scratch);
  /// A few rows (at most kThinRows) times columns [begin, end) of a right operand that is
  /// contiguous along the depth, without packing.
  void (*multiply_thin)(const GemmProblem<T>&, int64_t begin, int64_t end);
};

inline constexpr int64_t kThinRows = 4;

}  // namespace retro::cpu
