// Cosines and sines of rotary positions, computed once for all layers of a model.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include <ATen/core/Tensor.h>

#include "retro/model/block_config.h"

namespace retro {

/// Angle of a turn per position, for each of the head_width / 2 pairs (radians), after scaling:
/// linear divides all by the factor; ntk raises the base to base * factor^(A / (A - 2)); yarn
/// (arXiv 2309.00071) and llama3 divide the slow ones and ramp between.
std::vector<double> rotary_frequencies(const RotaryConfig& rotary, int64_t head_width);
/// What yarn multiplies queries and keys by; 1 for the others.
double rotary_attention_factor(const RotaryConfig& rotary);

/// [N, A/2] each.
struct RotaryAngles {
  at::Tensor cos_NF;
  at::Tensor sin_NF;
};

/// Grows to cover every position asked for. Thread-safe. Angles are formed in float64.
class RotaryTable {
 public:
  RotaryTable(const RotaryConfig& rotary, int64_t head_width);
  /// Of positions 0 .. count - 1, on the device of `like` and in its type (float32 for bfloat16);
  /// not to be written to.
  RotaryAngles first(int64_t count, const at::Tensor& like);
  /// Of any positions, int64 [N], each below `end`.
  RotaryAngles of(const at::Tensor& positions_N, int64_t end, const at::Tensor& like);

 private:
  std::vector<double> frequencies_;
  double attention_factor_;
  std::mutex mutex_;
  RotaryAngles table_;
};

}  // namespace retro
