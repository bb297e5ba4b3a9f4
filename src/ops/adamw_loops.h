// The inner loops of AdamW over plain arrays.
#pragma once

#include <cstdint>

#include "retro/ops/adamw.h"

namespace retro {

/// One block of a parameter with its gradient and moments.
struct AdamWBlock {
  float* parameter = nullptr;
  const float* gradient = nullptr;
  float* exp_avg = nullptr;
  float* exp_avg_sq = nullptr;
  int64_t size = 0;
};

void adamw_update_block(const AdamWBlock& block, const AdamWFactors& factors);
double sum_of_squares(const float* values, int64_t size);

}  // namespace retro
