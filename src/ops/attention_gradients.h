// What attention's backward returns, on any device.
#pragma once

#include <ATen/core/Tensor.h>

namespace retro {

/// Gradients of what every item shares, summed over items. Undefined: the operand is absent.
struct SharedAttentionGradients {
  at::Tensor relative_XHA;
  at::Tensor content_bias_HA;
  at::Tensor position_bias_HA;
};

struct AttentionGradientTensors {
  at::Tensor query;
  at::Tensor key;
  at::Tensor value;
  SharedAttentionGradients shared;
};

}  // namespace retro
