// Initial weights by name (METHOD section 3, "Init").
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <torch/nn/module.h>

#include "retro/model/model_config.h"

namespace retro {

/// Gains one, biases zero, matrices normal with init_std; those that write to the residual stream
/// with init_std / sqrt(2 x layers of their stack). Each parameter draws from the stream of its own
/// name; those whose name is not `is_drawn` stay as they are.
void draw_initial_weights(torch::nn::Module& model, const ModelConfig& config, uint64_t seed,
                          const std::function<bool(const std::string&)>& is_drawn);

}  // namespace retro
