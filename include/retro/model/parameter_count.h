// How many weights a model of a shape has, without making it.
#pragma once

#include <cstdint>

#include "retro/model/model_config.h"

namespace retro {

struct ParameterCount {
  int64_t decoder = 0;          ///< embedding, self-attention, feed-forward, norms, output
  int64_t cross_attention = 0;  ///< of the decoder's retro layers
  int64_t encoder = 0;
  int64_t total() const { return decoder + cross_attention + encoder; }
};

/// METHOD section 3's table of tensors; `config` is resolved.
ParameterCount count_parameters(const ModelConfig& config);

}  // namespace retro
