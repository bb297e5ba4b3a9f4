// A frozen matrix kept in fewer bits than float32, and the linear layer that works on its blocks.
#pragma once

#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>

#include "retro/ops/precision.h"

namespace retro {

/// How 32 neighbouring elements of a row are stored.
enum class WeightFormat {
  kBfloat16,  ///< 64 bytes
  kQ8_0,      ///< 34 bytes, GGUF's: a half-precision scale and 32 signed bytes
};

/// Elements of a block: a row has a multiple of them.
inline constexpr int64_t kBlockElements = 32;

struct BlockMatrix {
  at::Tensor bytes_RB;  ///< uint8 [rows, bytes of a row]
  WeightFormat format = WeightFormat::kQ8_0;
  int64_t rows = 0;
  int64_t columns = 0;
};

/// Nearest values: bfloat16 to even, Q8_0 as ggml's quantize_row_q8_0_ref (scale = largest / 127).
/// weight: float32 [rows, columns] on the CPU; columns not a multiple of kBlockElements: Error.
BlockMatrix to_blocks(const at::Tensor& weight, WeightFormat format);

/// float32 [rows, columns].
at::Tensor from_blocks(const BlockMatrix& matrix);

/// input [..., columns] x matrix^T -> [..., rows], float32: linear(input, from_blocks(matrix))
/// without that matrix. A few rows of input are multiplied straight from the blocks; more read them
/// decoded a strip at a time, in `precision`. The input gets a gradient, the matrix none.
at::Tensor block_linear(const at::Tensor& input, const BlockMatrix& matrix, Precision precision);

}  // namespace retro
