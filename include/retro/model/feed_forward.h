// The feed-forward part of a layer: down(gelu_tanh(up(norm(x)))), or gated in imported checkpoints:
// down(silu(gate(norm(x))) * up(norm(x))).
#pragma once

#include <memory>

#include "retro/model/norm.h"
#include "retro/model/weight.h"
#include "retro/ops/precision.h"

namespace retro {

struct FeedForwardShape {
  int64_t width = 0;
  int64_t inner_width = 0;
  bool is_gated = false;  ///< SwiGLU
  bool has_bias = false;
  NormShape norm = {};  ///< width 0: RMSNorm of `width`
};

class FeedForwardImpl : public torch::nn::Module {
 public:
  explicit FeedForwardImpl(const FeedForwardShape& shape);
  /// [..., width] -> [..., width]; the caller adds it to the stream.
  at::Tensor forward(const at::Tensor& stream, Precision precision) const;
  /// stream + forward(stream), in one pass.
  at::Tensor add_to(const at::Tensor& stream, Precision precision) const;
  /// Keeps the projections as blocks (WeightImpl::pack); returns their elements.
  int64_t pack(WeightFormat format);

 private:
  /// What `down_` reads.
  at::Tensor activations(const at::Tensor& normed, Precision precision) const;
  /// The fused operation has no gate, no bias and float32 weights.
  bool is_native() const {
    return !gate_ && !up_->bias.defined() && !up_->is_packed() && !down_->is_packed();
  }
  std::shared_ptr<NormImpl> norm_;
  std::shared_ptr<WeightImpl> gate_, up_, down_;
};

}  // namespace retro
