// What a matrix product reads and writes: raw pointers and strides in elements. No Torch.
#pragma once

#include <cstdint>

namespace retro::cpu {

template <typename T>
struct GemmOperand {
  const T* data;
  int64_t row_stride;
  int64_t column_stride;  ///< one of the two strides is 1
};

/// out [rows, columns] = addend + left [rows, depth] x right [depth, columns]; out and addend have
/// contiguous rows and may be the same matrix. Null addend: none.
template <typename T>
struct GemmProblem {
  int64_t rows;
  int64_t columns;
  int64_t depth;
  GemmOperand<T> left;
  GemmOperand<T> right;
  T* out;
  int64_t out_stride;
  const T* addend = nullptr;
  int64_t addend_stride = 0;
};

/// The part of the right operand that is packed at a time.
struct GemmBlock {
  int64_t first_depth;
  int64_t depth;
  int64_t column;
  int64_t columns;
};

}  // namespace retro::cpu
