// AdamW over all parameters in one launch (arXiv 1711.05101, algorithm 2, bias-corrected).
#pragma once

#include <cstdint>

#include "kernels/stream.h"

namespace retro::kernels {

/// One parameter: float32 master weights, gradient and moments, all of `size`.
struct AdamWTensor {
  float* parameter = nullptr;
  const float* gradient = nullptr;
  float* exp_avg = nullptr;
  float* exp_avg_sq = nullptr;
  uint16_t* bfloat16_copy = nullptr;  ///< or null: the new parameter rounded, as bits
  int64_t size = 0;
  float decay = 1.0f;  ///< 1 - learning rate * weight decay; 1 for gains and biases
  float unused = 0.0f;
};

/// Elements first..first + kAdamWPieceElements - 1 of one tensor: the work of a block.
struct AdamWPiece {
  int64_t tensor = 0;
  int64_t first = 0;
};

inline constexpr int64_t kAdamWPieceElements = 4096;

struct AdamWParams {
  const AdamWTensor* tensors = nullptr;  ///< in device memory, as all pointers in it
  const AdamWPiece* pieces = nullptr;
  int64_t num_pieces = 0;
  const float* gradient_scale = nullptr;  ///< one float on the device (clipping), or null: 1
  float beta1 = 0.9f;
  float beta2 = 0.95f;
  float step_size = 0.0f;   ///< learning rate / (1 - beta1^t)
  float root_scale = 1.0f;  ///< 1 / sqrt(1 - beta2^t)
  float epsilon = 1e-8f;
};

void launch_adamw(const AdamWParams& params, StreamHandle stream);

}  // namespace retro::kernels
