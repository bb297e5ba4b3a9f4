#include "retro/model/decoder.h"

#include <algorithm>
#include <string>

#include "retro/ops/embedding.h"
#include "retro/ops/rms_norm.h"

namespace retro {

DecoderImpl::DecoderImpl(const ModelConfig& config,
                         const std::shared_ptr<DistanceCache>& distances) {
  using Shape = std::initializer_list<int64_t>;
  embed_ = register_module("embed",
                           std::make_shared<WeightImpl>(Shape{config.vocabulary, config.width}));
  const auto list = std::make_shared<torch::nn::Module>("layers");
  for (int64_t i = 0; i < config.layers; ++i) {
    const bool is_retro_layer =
        std::find(config.cca_layers.begin(), config.cca_layers.end(), i) != config.cca_layers.end();
    layers.push_back(std::make_shared<DecoderBlockImpl>(config, is_retro_layer, distances));
    list->register_module(std::to_string(i), layers.back());
  }
  register_module("layers", list);
  norm_ = register_module("norm", std::make_shared<WeightImpl>(Shape{config.width}));
  if (!config.tie_output)
    output_ = register_module("output",
                              std::make_shared<WeightImpl>(Shape{config.vocabulary, config.width}));
}

at::Tensor DecoderImpl::embed(const at::Tensor& tokens) const {
  return embed_tokens(embed_->weight, tokens);
}

at::Tensor DecoderImpl::finish(const at::Tensor& stream) const {
  return rms_norm(stream, norm_->weight);
}

}  // namespace retro
