// RMSNorm: y = x / sqrt(mean(x^2) + epsilon) * gain, over rows (METHOD section 3).
#pragma once

#include <cstdint>

#include "kernels/stream.h"

namespace retro::kernels {

/// T: float or bfloat16. The gain and all statistics are float32.
template <typename T>
struct RmsNormForwardParams {
  const T* input = nullptr;      ///< [rows, width]
  int64_t input_stride = 0;      ///< of its rows, in elements
  const float* gain = nullptr;   ///< [width]
  T* output = nullptr;           ///< [rows, width], contiguous
  float* inverse_rms = nullptr;  ///< [rows], for the backward
  int64_t rows = 0;
  int64_t width = 0;
  float epsilon = 1e-6f;
};

template <typename T>
struct RmsNormBackwardParams {
  const T* input = nullptr;  ///< [rows, width]
  int64_t input_stride = 0;
  const float* gain = nullptr;         ///< [width]
  const float* inverse_rms = nullptr;  ///< [rows], of the forward
  const T* grad_output = nullptr;      ///< [rows, width], contiguous
  T* grad_input = nullptr;             ///< [rows, width], contiguous
  float* grad_gain = nullptr;          ///< [width]
  float* partial_gain = nullptr;       ///< [rms_norm_slices(rows), width], scratch
  int64_t rows = 0;
  int64_t width = 0;
};

/// Number of partial sums of the gain's gradient. It follows from the shape alone, so that the
/// result does not depend on the device.
int64_t rms_norm_slices(int64_t rows);

template <typename T>
void launch_rms_norm_forward(const RmsNormForwardParams<T>& params, StreamHandle stream);
template <typename T>
void launch_rms_norm_backward(const RmsNormBackwardParams<T>& params, StreamHandle stream);

}  // namespace retro::kernels
