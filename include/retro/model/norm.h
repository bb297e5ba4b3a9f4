// The norm before every part of a layer: RMSNorm, or LayerNorm in imported checkpoints.
#pragma once

#include <cstdint>

#include <torch/nn/module.h>

#include "retro/model/block_config.h"

namespace retro {

struct NormShape {
  int64_t width = 0;
  bool is_layer_norm = false;  ///< with a mean and a bias
  double epsilon = 1e-6;
};

NormShape norm_shape(const BlockConfig& block, int64_t width);

/// RMSNorm: x / sqrt(mean(x^2) + eps) * weight. LayerNorm: (x - mean) / sqrt(variance + eps) *
/// weight + bias. Over the last dimension.
class NormImpl : public torch::nn::Module {
 public:
  explicit NormImpl(const NormShape& shape);
  at::Tensor forward(const at::Tensor& input) const;

  at::Tensor weight;
  at::Tensor bias;  ///< undefined for RMSNorm

 private:
  double epsilon_;
};

}  // namespace retro
