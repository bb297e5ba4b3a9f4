// A model with head widths that kernels have, as small as that allows, and an input with everything
// that is masked.
#pragma once

#include <torch/torch.h>

#include "retro/model/retro_model.h"

namespace retro::testing {

/// d 24, m 4, two layers, chunked cross-attention in the upper one.
inline ModelConfig device_config() {
  ModelConfig config;
  config.vocabulary = 61;
  config.width = 24;
  config.layers = 2;
  config.heads = 2;
  config.head_width = 32;
  config.feed_forward = 40;
  config.chunk_length = 4;
  config.cca_layers = {1};
  config.encoder.width = 20;
  config.encoder.layers = 1;
  config.encoder.heads = 1;
  config.encoder.head_width = 32;
  config.encoder.feed_forward = 24;
  config.init_std = 0.15;
  return config;
}

/// The same weights on every device; biases are not zero.
inline RetroModel device_model(const ModelConfig& config, at::Device device, Precision precision) {
  RetroModel model(config, 3);
  const torch::NoGradGuard no_gradients;
  torch::manual_seed(3);
  for (auto& item : model->named_parameters()) {
    if (item.key().ends_with("bias")) item.value().normal_(0, 0.2);
  }
  model->to(device);
  model->set_precision(precision);
  model->eval();
  return model;
}

/// On the CPU, as data loaders make it. Two sequences of 14 tokens in two documents, two
/// neighbours; padding at a beginning, in a neighbour, and a chunk without neighbours.
inline ModelInput device_input(const ModelConfig& config) {
  torch::manual_seed(4);
  const int64_t length = 14, m = config.chunk_length;
  ModelInput input;
  input.tokens_BN = torch::randint(config.vocabulary, {2, length}, torch::kLong);
  input.real_BN = torch::ones({2, length}, torch::kBool);
  input.real_BN[0].slice(0, 0, 3).fill_(false);
  input.document_BN = torch::arange(length).ge(7).to(torch::kLong).repeat({2, 1});
  input.neighbours_BLKR =
      torch::randint(config.vocabulary, {2, length / m, 2, 2 * m}, torch::kLong);
  input.neighbours_BLKR[0][0].fill_(-1);
  input.neighbours_BLKR[1][1][1].slice(0, m, 2 * m).fill_(-1);
  return input;
}

}  // namespace retro::testing
