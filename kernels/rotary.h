// Rotary positions: pairs (x[i], x[i + width / 2]) of a head turn by an angle of their row.
#pragma once

#include <cstdint>

#include "kernels/stream.h"

namespace retro::kernels {

/// Contiguous [batch, rows, heads, width]; output may be input. The backward is the same turn the
/// other way (`is_inverse`). Angles come as tables, so that every way of scaling them is the
/// caller's.
template <typename T>
struct RotaryParams {
  const T* input = nullptr;
  T* output = nullptr;
  const float* cosines = nullptr;  ///< [rows, width / 2]
  const float* sines = nullptr;    ///< [rows, width / 2]
  int64_t batch = 0;
  int64_t rows = 0;
  int64_t heads = 0;
  int64_t width = 0;  ///< even
  bool is_inverse = false;
};

template <typename T>
void launch_rotary(const RotaryParams<T>& params, StreamHandle stream);

}  // namespace retro::kernels
