#include "retro/train/lr_schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace retro {

double LearningRateSchedule::at(int64_t step) const {
  if (step < warmup_steps) {
    const double risen = static_cast<double>(step) / static_cast<double>(warmup_steps);
    return start + (peak - start) * risen;
  }
  const auto after_warmup = static_cast<double>(std::max<int64_t>(total_steps - warmup_steps, 1));
  const double progress = std::min(static_cast<double>(step - warmup_steps) / after_warmup, 1.0);
  const double cosine = 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
  return peak * (final_ratio + (1.0 - final_ratio) * cosine);
}

}  // namespace retro
