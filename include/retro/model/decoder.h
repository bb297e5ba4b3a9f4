// The decoder's parts: embedding, layers, final norm, output projection.
#pragma once

#include <memory>
#include <vector>

#include "retro/model/decoder_block.h"

namespace retro {

class DecoderImpl : public torch::nn::Module {
 public:
  DecoderImpl(const ModelConfig& config, const PositionTables& tables);
  /// Ids [...] -> [..., D]. `positions`, int64 of the same shape, is read by learned positions
  /// only.
  at::Tensor embed(const at::Tensor& tokens, const at::Tensor& positions = {}) const;
  bool has_learned_positions() const { return positions_ != nullptr; }
  /// The final norm.
  at::Tensor finish(const at::Tensor& stream) const;
  const at::Tensor& embedding_weight() const { return embed_->weight; }
  const at::Tensor& output_weight() const { return output_ ? output_->weight : embed_->weight; }

  std::vector<std::shared_ptr<DecoderBlockImpl>> layers;

 private:
  std::shared_ptr<WeightImpl> embed_, positions_, output_;
  std::shared_ptr<NormImpl> norm_;
};

/// Learned positions count real tokens only: a lead chunk's mask shifts nothing. `real_BN`
/// undefined: all are. int64 [B, N]; masked positions have that of the real token before (at least
/// 0).
at::Tensor count_real_positions(const at::Tensor& real_BN, const at::Tensor& tokens_BN);

}  // namespace retro
