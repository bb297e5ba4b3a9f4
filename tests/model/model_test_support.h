// Small models and inputs shared by the tests of this folder.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/types.h>

#include "retro/core/random.h"
#include "retro/model/decoder.h"
#include "retro/model/neighbour_encoder.h"
#include "retro/model/retro_model.h"

namespace retro::testing {

/// m = 4, CCA in layers 1 and 2 of 3, two encoder layers, HA = 12 is neither d nor d'.
inline ModelConfig small_config() {
  ModelConfig config;
  config.vocabulary = 120;
  config.width = 16;
  config.layers = 3;
  config.heads = 2;
  config.head_width = 6;
  config.feed_forward = 20;
  config.chunk_length = 4;
  config.cca_layers = {1, 2};
  config.encoder.width = 14;
  config.encoder.layers = 2;
  config.encoder.feed_forward = 18;
  config.init_std = 0.3;
  return config;
}

/// float64, every parameter random (gains around one): nothing cancels by being zero or one.
inline RetroModel random_model(const ModelConfig& config, uint64_t seed = 1) {
  RetroModel model(config, seed);
  model->to(torch::kFloat64);
  const torch::NoGradGuard no_gradients;
  for (const auto& item : model->named_parameters()) {
    const bool is_bias = item.key().ends_with("bias");
    const bool is_gain = item.value().dim() == 1 && !is_bias;
    if (!is_gain && !is_bias) continue;
    RandomStream random(seed, item.key());
    torch::Tensor values = item.value();
    double* data = values.data_ptr<double>();
    for (int64_t i = 0; i < values.numel(); ++i)
      data[i] = (is_gain ? 1.0 : 0.0) + 0.3 * random.normal();
  }
  model->eval();
  return model;
}

inline torch::Tensor random_ids(std::initializer_list<int64_t> shape, int64_t vocabulary,
                                const char* name) {
  RandomStream random(7, name);
  torch::Tensor ids = torch::empty(c10::IntArrayRef(shape), torch::kLong);
  int64_t* data = ids.data_ptr<int64_t>();
  for (int64_t i = 0; i < ids.numel(); ++i)
    data[i] = static_cast<int64_t>(random.below(static_cast<uint64_t>(vocabulary)));
  return ids;
}

/// Random tokens and neighbours, all real.
inline ModelInput random_input(const ModelConfig& config, int64_t batch, int64_t length,
                               int64_t k) {
  const int64_t m = config.chunk_length;
  ModelInput input;
  input.tokens_BN = random_ids({batch, length}, config.vocabulary, "tokens");
  input.neighbours_BLKR =
      random_ids({batch, length / m, k, 2 * m}, config.vocabulary, "neighbours");
  return input;
}

/// One sequence whose tokens are 0, 1, 2, ... and whose retrieved tokens are 0, 1, 2, ... as well:
/// with separate embeddings, row i of an embedding's gradient is the gradient of position i.
inline ModelInput numbered_input(const ModelConfig& config, int64_t length, int64_t k) {
  const int64_t m = config.chunk_length;
  const int64_t retrieved = length / m * k * 2 * m;
  EXPECT_LE(std::max(length, retrieved), config.vocabulary);
  ModelInput input;
  input.tokens_BN = torch::arange(length).unsqueeze(0);
  input.neighbours_BLKR = torch::arange(retrieved).view({1, length / m, k, 2 * m});
  return input;
}

inline ModelInput without_retrieval(ModelInput input) {
  input.neighbours_BLKR = torch::Tensor();
  return input;
}

inline torch::Tensor parameter(const RetroModel& model, const std::string& name) {
  return model->named_parameters()[name];
}

/// Gradient of `output` with respect to a parameter; zeros where there is none.
inline torch::Tensor gradient(RetroModel& model, const torch::Tensor& output,
                              const std::string& name) {
  model->zero_grad();
  output.backward({}, true);
  const torch::Tensor weight = parameter(model, name);
  return weight.grad().defined() ? weight.grad().clone() : torch::zeros_like(weight);
}

/// A scalar that depends on every logit of `position`.
inline torch::Tensor probe(const torch::Tensor& logits_BNV, int64_t position) {
  const torch::Tensor row = logits_BNV.select(1, position);
  return (row * torch::linspace(0.5, 1.5, row.size(-1), row.options())).sum();
}

inline double largest_difference(const torch::Tensor& a, const torch::Tensor& b) {
  return a.numel() == 0 ? 0.0 : (a - b).abs().max().item<double>();
}

/// float64 sums of another order differ by a few units in the last place.
constexpr double kFloat64Slack = 1e-11;

}  // namespace retro::testing
