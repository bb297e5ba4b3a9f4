#include "retro/model/decoder.h"

#include <algorithm>
#include <string>

#include <ATen/ops/arange.h>

#include "retro/core/error.h"
#include "retro/ops/embedding.h"

namespace retro {

DecoderImpl::DecoderImpl(const ModelConfig& config, const PositionTables& tables) {
  using Shape = std::initializer_list<int64_t>;
  embed_ = register_module("embed",
                           std::make_shared<WeightImpl>(Shape{config.vocabulary, config.width}));
  if (config.block.positions == "learned") {
    const Shape shape{config.block.max_positions, config.width};
    positions_ = register_module("positions", std::make_shared<WeightImpl>(shape));
  }
  const auto list = std::make_shared<torch::nn::Module>("layers");
  for (int64_t i = 0; i < config.layers; ++i) {
    const bool is_retro_layer =
        std::find(config.cca_layers.begin(), config.cca_layers.end(), i) != config.cca_layers.end();
    layers.push_back(std::make_shared<DecoderBlockImpl>(config, is_retro_layer, tables));
    list->register_module(std::to_string(i), layers.back());
  }
  register_module("layers", list);
  norm_ =
      register_module("norm", std::make_shared<NormImpl>(norm_shape(config.block, config.width)));
  if (!config.tie_output)
    output_ = register_module("output",
                              std::make_shared<WeightImpl>(Shape{config.vocabulary, config.width}));
}

at::Tensor DecoderImpl::embed(const at::Tensor& tokens, const at::Tensor& positions) const {
  const at::Tensor embedded = embed_tokens(embed_->weight, tokens);
  if (!positions_) return embedded;
  const int64_t known = positions_->weight.size(0);
  const int64_t last = positions.numel() > 0 ? positions.max().item<int64_t>() : 0;
  RETRO_CHECK(last < known,
              "the sequence has {} tokens, but the model has {} learned positions: shorten "
              "train.sequence_length or sample.sequence_length",
              last + 1, known);
  return embedded + embed_tokens(positions_->weight, positions);
}

at::Tensor DecoderImpl::finish(const at::Tensor& stream) const { return norm_->forward(stream); }

at::Tensor count_real_positions(const at::Tensor& real_BN, const at::Tensor& tokens_BN) {
  if (!real_BN.defined())
    return at::arange(tokens_BN.size(1), tokens_BN.options()).expand(tokens_BN.sizes());
  return real_BN.to(at::kLong).cumsum(1).sub(1).clamp_min(0);
}

}  // namespace retro
