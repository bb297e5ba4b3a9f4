// Rotary positions: pairs (x[i], x[i + width / 2]) of a head turn by position * base^(-2 i /
// width).
#pragma once

#include <cstdint>

#include "kernels/stream.h"

namespace retro::kernels {

/// Turns [batch, rows, heads, width] in place-compatible fashion (output may be input). The
/// backward is the same turn the other way (`is_inverse`).
template <typename T>
struct RotaryParams {
  const T* input = nullptr;
  T* output = nullptr;
  const int64_t* positions = nullptr;  ///< [batch, rows], contiguous
  int64_t batch = 0;
  int64_t rows = 0;
  int64_t heads = 0;
  int64_t width = 0;  ///< even
  int64_t input_batch_stride = 0;
  int64_t input_row_stride = 0;
  int64_t input_head_stride = 0;
  int64_t output_batch_stride = 0;
  int64_t output_row_stride = 0;
  int64_t output_head_stride = 0;
  float base = 10000.0f;
  bool is_inverse = false;
};

template <typename T>
void launch_rotary(const RotaryParams<T>& params, StreamHandle stream);

}  // namespace retro::kernels
