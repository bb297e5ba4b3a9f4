// Floating-point operations of a forward pass: the numerator of "share of GEMM peak".
#pragma once

#include <cstdint>

#include "retro/model/model_config.h"

namespace retro {

/// Multiply-adds x 2 of one forward pass with `batch` sequences of `length` and `neighbours` per
/// chunk (no recomputation). `config` is resolved.
double forward_flops(const ModelConfig& config, int64_t batch, int64_t length, int64_t neighbours);

}  // namespace retro
