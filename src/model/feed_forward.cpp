#include "retro/model/feed_forward.h"

#include "retro/ops/feed_forward.h"
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
  return feed_forward({}, rms_norm(stream, norm_->weight), up_->weight, down_->weight, precision);
}

at::Tensor FeedForwardImpl::add_to(const at::Tensor& stream, Precision precision) const {
  return feed_forward(stream, rms_norm(stream, norm_->weight), up_->weight, down_->weight,
                      precision);
}

}  // namespace retro
