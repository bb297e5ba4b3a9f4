// AdamW on a GPU.
#pragma once

#include "retro/ops/adamw.h"

namespace retro::cuda {

/// One launch for all parameters that have taken equally many steps.
void adamw_update(const std::vector<AdamWTensors>& tensors);

}  // namespace retro::cuda
