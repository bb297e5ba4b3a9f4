#include "retro/model/feed_forward.h"

#include "retro/ops/gelu.h"
#include "retro/ops/linear.h"
#include "retro/ops/rms_norm.h"

namespace retro {

FeedForwardImpl::FeedForwardImpl(int64_t width, int64_t inner_width)
    : norm_(register_module("norm",
                            std::make_shared<WeightImpl>(std::initializer_list<int64_t>{width}))),
      up_(register_module(
          "up", std::make_shared<WeightImpl>(std::initializer_list<int64_t>{inner_width, width}))),
      down_(register_module("down", std::make_shared<WeightImpl>(
                                        std::initializer_list<int64_t>{width, inner_width}))) {}

at::Tensor FeedForwardImpl::forward(const at::Tensor& stream, Precision precision) const {
  const at::Tensor inner =
      gelu_tanh(linear(rms_norm(stream, norm_->weight), up_->weight, precision));
  return linear(inner, down_->weight, precision);
}

}  // namespace retro
