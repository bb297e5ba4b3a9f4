// The quantised types of GGUF: a row is cut into blocks of 32 or 256 elements that share scales.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "retro/core/tensor_view.h"

namespace retro {

/// A type whose elements come in blocks; plain types are blocks of one.
struct BlockFormat {
  std::string_view name;
  int64_t elements;  ///< of one block
  int64_t bytes;     ///< of one block
};

/// F32, F16, BF16, F64, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K; null for any other.
const BlockFormat* find_block_format(std::string_view dtype);

/// Writes the elements of whole blocks of `dtype` to `values`, as ggml's dequantize_row_* does.
/// Throws Error for a type not listed above, and where `blocks` and `values` do not fit each other.
void dequantize_blocks(std::string_view dtype, std::span<const std::byte> blocks,
                       std::span<float> values);

/// All elements of `tensor`, row-major, on up to `num_threads` threads (0: all). `values` has
/// tensor.num_elements() elements. Throws Error for a type not listed above.
void read_float32(const TensorView& tensor, std::span<float> values, int num_threads = 0);

}  // namespace retro
