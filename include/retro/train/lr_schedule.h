// The learning rate of every optimizer step (METHOD section 4).
#pragma once

#include <cstdint>

namespace retro {

/// Linear from `start` at step 0 to `peak` at step `warmup_steps`, then a cosine to final_ratio *
/// peak at `total_steps`.
struct LearningRateSchedule {
  double peak = 2e-4;
  int64_t warmup_steps = 750;
  int64_t total_steps = 0;
  double start = 1e-7;
  double final_ratio = 0.1;

  /// Of optimizer step `step`, counted from 0.
  double at(int64_t step) const;
};

}  // namespace retro
