// RMSNorm on a GPU.
#pragma once

#include <ATen/core/Tensor.h>

namespace retro::cuda {

/// input contiguous [..., D], float32 or bfloat16; gain and inverse_rms float32.
void rms_norm_forward(const at::Tensor& input, const at::Tensor& gain, double epsilon,
                      const at::Tensor& output, const at::Tensor& inverse_rms);
/// `forward`: input, gain, inverse_rms.
void rms_norm_backward(at::TensorList forward, const at::Tensor& grad_output,
                       const at::Tensor& grad_input, const at::Tensor& grad_gain);

}  // namespace retro::cuda
