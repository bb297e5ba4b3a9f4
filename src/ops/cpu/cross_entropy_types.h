// What the softmax kernels of linear_cross_entropy exchange with their caller.
#pragma once

#include <cstdint>

namespace retro::cpu {

/// The upper half of a float32.
struct Bfloat16 {
  uint16_t bits;
};

/// The running maximum and sum of exponentials of one row of logits.
template <typename T>
struct RunningSoftmax {
  T maximum;
  T sum;
};

}  // namespace retro::cpu
