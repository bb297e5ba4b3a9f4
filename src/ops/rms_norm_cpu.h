// RMSNorm on the CPU: contiguous rows of `width`.
#pragma once

#include <cstdint>

namespace retro {

template <typename T>
struct RmsNormForward {
  int64_t rows;
  int64_t width;
  double epsilon;
  const T* input;  ///< [rows, width]
  const T* gain;   ///< [width]
  T* output;       ///< [rows, width]
  T* inverse_rms;  ///< [rows]
};

template <typename T>
struct RmsNormBackward {
  int64_t rows;
  int64_t width;
  const T* input;
  const T* gain;
  const T* inverse_rms;
  const T* grad_output;
  T* grad_input;
  T* grad_gain;  ///< [width]
};

template <typename T>
void rms_norm_forward_cpu(const RmsNormForward<T>& params);

/// The gain's gradient is summed over fixed blocks of rows: equal for every thread count.
template <typename T>
void rms_norm_backward_cpu(const RmsNormBackward<T>& params);

}  // namespace retro
