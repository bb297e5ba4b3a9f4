#include "retro/model/neighbour_encoder.h"

#include <algorithm>
#include <string>

#include "retro/ops/embedding.h"

#include "residual.h"

namespace retro {
namespace {

AttentionShape encoder_shape(const EncoderConfig& encoder, int64_t context_width,
                             bool has_context_norm) {
  return {encoder.width, context_width, encoder.heads, encoder.head_width, has_context_norm};
}

/// [X, M, H, A] -> [X * K, M, H, A]: every neighbour of a chunk reads the same keys.
at::Tensor repeat_per_neighbour(const at::Tensor& projected_XMHA, int64_t k) {
  if (k == 1) return projected_XMHA;
  return projected_XMHA.unsqueeze(1).expand({-1, k, -1, -1, -1}).flatten(0, 1);
}

}  // namespace

EncoderLayerImpl::EncoderLayerImpl(const ModelConfig& config, bool is_conditioned,
                                   const std::shared_ptr<DistanceCache>& distances)
    : dropout_(config.dropout) {
  const EncoderConfig& encoder = config.encoder;
  const auto attention = [&](const char* name, int64_t context_width, bool has_context_norm) {
    const AttentionShape shape = encoder_shape(encoder, context_width, has_context_norm);
    return register_module(name, std::make_shared<AttentionImpl>(shape, distances));
  };
  self_attention = attention("self_attention", encoder.width, false);
  if (is_conditioned) cross_attention = attention("cross_attention", config.width, true);
  feed_forward = register_module("feed_forward", std::make_shared<FeedForwardImpl>(FeedForwardShape{
                                                     encoder.width, encoder.feed_forward}));
}

at::Tensor EncoderLayerImpl::add_self_attention(const at::Tensor& stream_YRE,
                                                const at::Tensor& is_real_YR,
                                                Precision precision) const {
  const int64_t retrieved_length = stream_YRE.size(1);
  const DistanceRange distances{1 - retrieved_length, 2 * retrieved_length - 1};
  const ProjectedHeads heads =
      self_attention->project_self(self_attention->normed(stream_YRE), precision);
  AttentionOperands operands = self_attention->position_operands(distances, precision);
  operands.query_BNHA = heads.query;
  operands.key_BTGA = heads.key;
  operands.value_BTGA = heads.value;
  operands.key_is_real_BT = is_real_YR;
  AttentionGeometry geometry;
  geometry.first_distance = distances.first;
  return add_attended(stream_YRE, *self_attention, relative_attention(operands, geometry),
                      residual_settings(*this, dropout_, precision));
}

at::Tensor EncoderLayerImpl::add_cross_attention(const at::Tensor& stream_YRE,
                                                 const ChunkContext& context,
                                                 Precision precision) const {
  const int64_t k = stream_YRE.size(0) / context.hidden_XMD.size(0);
  const int64_t chunk_length = context.hidden_XMD.size(1);
  const DistanceRange distances{1 - chunk_length, stream_YRE.size(1) + chunk_length - 1};
  const ProjectedHeads heads = cross_attention->project_context(
      cross_attention->normed_context(context.hidden_XMD), precision);
  AttentionOperands operands = cross_attention->position_operands(distances, precision);
  operands.query_BNHA =
      cross_attention->project_query(cross_attention->normed(stream_YRE), precision);
  operands.key_BTGA = repeat_per_neighbour(heads.key, k);
  operands.value_BTGA = repeat_per_neighbour(heads.value, k);
  if (context.is_real_XM.defined()) {
    operands.key_is_real_BT = context.is_real_XM.repeat_interleave(k, 0);
  }
  AttentionGeometry geometry;
  geometry.first_distance = distances.first;
  return add_attended(stream_YRE, *cross_attention, relative_attention(operands, geometry),
                      residual_settings(*this, dropout_, precision));
}

at::Tensor EncoderLayerImpl::forward(const at::Tensor& stream_YRE, const at::Tensor& is_real_YR,
                                     const ChunkContext& context, Precision precision) const {
  at::Tensor stream = add_self_attention(stream_YRE, is_real_YR, precision);
  if (cross_attention) stream = add_cross_attention(stream, context, precision);
  return add_fed_forward(stream, *feed_forward, residual_settings(*this, dropout_, precision));
}

NeighbourEncoderImpl::NeighbourEncoderImpl(const ModelConfig& config,
                                           const std::shared_ptr<DistanceCache>& distances) {
  using Shape = std::initializer_list<int64_t>;
  const EncoderConfig& encoder = config.encoder;
  if (!config.share_embeddings) {
    embed_ = register_module("embed",
                             std::make_shared<WeightImpl>(Shape{config.vocabulary, encoder.width}));
  }
  const auto list = std::make_shared<torch::nn::Module>("layers");
  for (int64_t i = 0; i < encoder.layers; ++i) {
    const auto& conditioned = encoder.cross_attention_layers;
    const bool is_conditioned =
        encoder.query_conditioning &&
        std::find(conditioned.begin(), conditioned.end(), i) != conditioned.end();
    layers.push_back(std::make_shared<EncoderLayerImpl>(config, is_conditioned, distances));
    list->register_module(std::to_string(i), layers.back());
  }
  register_module("layers", list);
  norm_ = register_module("norm", std::make_shared<NormImpl>(NormShape{encoder.width}));
}

at::Tensor NeighbourEncoderImpl::forward(const at::Tensor& neighbours_XKR,
                                         const ChunkContext& context,
                                         const at::Tensor& shared_embedding,
                                         Precision precision) const {
  const at::Tensor ids_YR = neighbours_XKR.flatten(0, 1);
  const at::Tensor is_real_YR = ids_YR.ge(0);
  at::Tensor stream_YRE = embed_tokens(embed_ ? embed_->weight : shared_embedding, ids_YR);
  stream_YRE = stream_YRE.to(context.hidden_XMD.scalar_type());
  for (const auto& layer : layers) {
    const auto part = [layer, is_real_YR, context,
                       precision](const std::vector<at::Tensor>& inputs) {
      return layer->forward(inputs[0], is_real_YR, {inputs[1], context.is_real_XM}, precision);
    };
    stream_YRE = run_part(recompute_, part, {stream_YRE, context.hidden_XMD}, layer->parameters());
  }
  return norm_->forward(stream_YRE).unflatten(0, {neighbours_XKR.size(0), neighbours_XKR.size(1)});
}

}  // namespace retro
