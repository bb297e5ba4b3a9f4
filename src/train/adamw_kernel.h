// The inner loops of AdamW over plain arrays.
#pragma once

#include <cstdint>

namespace retro {

/// One block of a parameter with its gradient and moments.
struct AdamWBlock {
  float* parameter = nullptr;
  const float* gradient = nullptr;
  float* exp_avg = nullptr;
  float* exp_avg_sq = nullptr;
  int64_t size = 0;
};

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

void adamw_update(const AdamWBlock& block, const AdamWFactors& factors);
double sum_of_squares(const float* values, int64_t size);

}  // namespace retro
