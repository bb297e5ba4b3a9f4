#include "retro/model/feed_forward.h"

#include <ATen/ops/silu.h>

#include "retro/ops/feed_forward.h"
#include "retro/ops/gelu.h"
#include "retro/ops/linear.h"

namespace retro {

FeedForwardImpl::FeedForwardImpl(const FeedForwardShape& shape) {
  const auto weight = [&](const char* name, std::initializer_list<int64_t> sizes) {
    return register_module(name, std::make_shared<WeightImpl>(sizes, shape.has_bias));
  };
  NormShape norm = shape.norm;
  if (norm.width == 0) norm.width = shape.width;
  norm_ = register_module("norm", std::make_shared<NormImpl>(norm));
  if (shape.is_gated) gate_ = weight("gate", {shape.inner_width, shape.width});
  up_ = weight("up", {shape.inner_width, shape.width});
  down_ = weight("down", {shape.width, shape.inner_width});
}

at::Tensor FeedForwardImpl::activations(const at::Tensor& normed, Precision precision) const {
  if (!gate_) return gelu_tanh(up_->apply(normed, precision));
  const auto projected = linear_group(normed, {gate_->weight, up_->weight}, precision);
  at::Tensor gate = gate_->with_bias(projected[0]);
  const at::Tensor up = up_->with_bias(projected[1]);
  // In place where no gradient is wanted: the widest tensors of a layer.
  if (!at::GradMode::is_enabled()) return at::silu_(gate).mul_(up);
  return at::silu(gate) * up;
}

at::Tensor FeedForwardImpl::forward(const at::Tensor& stream, Precision precision) const {
  const at::Tensor normed = norm_->forward(stream);
  if (is_native()) return feed_forward({}, normed, up_->weight, down_->weight, precision);
  return down_->apply(activations(normed, precision), precision);
}

at::Tensor FeedForwardImpl::add_to(const at::Tensor& stream, Precision precision) const {
  const at::Tensor normed = norm_->forward(stream);
  if (is_native()) return feed_forward(stream, normed, up_->weight, down_->weight, precision);
  return down_->apply_and_add(stream, activations(normed, precision), precision);
}

}  // namespace retro
