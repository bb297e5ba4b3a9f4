#include "retro/model/norm.h"

#include <ATen/ops/layer_norm.h>

#include "retro/ops/rms_norm.h"

namespace retro {

NormShape norm_shape(const BlockConfig& block, int64_t width) {
  return {width, block.norm == "layer", block.norm_epsilon};
}

NormImpl::NormImpl(const NormShape& shape)
    : weight(register_parameter("weight", torch::zeros({shape.width}))), epsilon_(shape.epsilon) {
  if (shape.is_layer_norm) bias = register_parameter("bias", torch::zeros({shape.width}));
}

at::Tensor NormImpl::forward(const at::Tensor& input) const {
  if (!bias.defined()) return rms_norm(input, weight, epsilon_);
  const at::ScalarType type = input.scalar_type();
  return at::layer_norm(input, {weight.numel()}, weight.to(type), bias.to(type), epsilon_);
}

}  // namespace retro
