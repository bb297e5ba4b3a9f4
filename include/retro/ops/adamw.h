// AdamW's update of many parameters in one pass (arXiv 1711.05101, algorithm 2, bias-corrected).
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace retro {

/// The factors of one update, bias corrections folded in.
struct AdamWFactors {
  float gradient_scale = 1;
  float beta1 = 0;
  float beta2 = 0;
  float decay = 1;       ///< 1 - learning rate * weight decay
  float step_size = 0;   ///< learning rate / (1 - beta1^t)
  float root_scale = 1;  ///< 1 / sqrt(1 - beta2^t)
  float epsilon = 0;
};

/// float32, contiguous, of one size, on one device.
struct AdamWTensors {
  at::Tensor parameter;
  at::Tensor gradient;
  at::Tensor exp_avg;
  at::Tensor exp_avg_sq;
  AdamWFactors factors;
};

/// Writes parameters and moments. All tensors on the same device. On the CPU results do not depend
/// on the thread count.
void adamw_update(const std::vector<AdamWTensors>& tensors);

/// Euclidean norm of contiguous float32 tensors taken together.
double joint_norm(const std::vector<at::Tensor>& tensors);

}  // namespace retro
