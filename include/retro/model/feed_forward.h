// The feed-forward part of a layer: down(gelu_tanh(up(norm(x)))).
#pragma once

#include <memory>

#include "retro/model/weight.h"
#include "retro/ops/precision.h"

namespace retro {

class FeedForwardImpl : public torch::nn::Module {
 public:
  FeedForwardImpl(int64_t width, int64_t inner_width);
  /// [..., width] -> [..., width]; the caller adds it to the stream.
  at::Tensor forward(const at::Tensor& stream, Precision precision) const;
  /// stream + forward(stream), in one pass.
  at::Tensor add_to(const at::Tensor& stream, Precision precision) const;

 private:
  std::shared_ptr<WeightImpl> norm_, up_, down_;
};

}  // namespace retro
