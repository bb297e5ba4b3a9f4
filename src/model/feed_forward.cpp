#include "retro/model/feed_forward.h"

#include "retro/ops/feed_forward.h"
#include "retro/ops/gelu.h"
#include "retro/ops/swiglu.h"

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
  const auto projected = apply_each({gate_, up_}, normed, precision);
  return swiglu(projected[0], projected[1]);
}

int64_t FeedForwardImpl::pack(WeightFormat format) {
  return (gate_ ? gate_->pack(format) : 0) + up_->pack(format) + down_->pack(format);
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
