// The decoder's parts: embedding, layers, final norm, output projection.
#pragma once

#include <memory>
#include <vector>

#include "retro/model/decoder_block.h"

namespace retro {

class DecoderImpl : public torch::nn::Module {
 public:
  DecoderImpl(const ModelConfig& config, const std::shared_ptr<DistanceCache>& distances);
  /// Ids [...] -> [..., D].
  at::Tensor embed(const at::Tensor& tokens) const;
  /// The final norm.
  at::Tensor finish(const at::Tensor& stream) const;
  const at::Tensor& embedding_weight() const { return embed_->weight; }
  const at::Tensor& output_weight() const { return output_ ? output_->weight : embed_->weight; }

  std::vector<std::shared_ptr<DecoderBlockImpl>> layers;

 private:
  std::shared_ptr<WeightImpl> embed_, norm_, output_;
};

}  // namespace retro
