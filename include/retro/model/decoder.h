// The decoder's parts: embedding, layers, final norm, output projection.
#pragma once

#include "retro/model/decoder_block.h"

#include <memory>
#include <vector>

namespace retro {

class DecoderImpl : public torch::nn::Module {
 public:
  explicit DecoderImpl(const ModelConfig& config);
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
