#include "retro/model/decoder_block.h"

#include "retro/ops/chunked_cross_attention.h"

#include "residual.h"

namespace retro {
namespace {

AttentionShape decoder_shape(const ModelConfig& config, int64_t context_width) {
  return {config.width, context_width, config.heads, config.head_width, false};
}

}  // namespace

DistanceRange cross_attention_distances(int64_t chunk_length, int64_t retrieved_length) {
  const int64_t first = chunk_length - retrieved_length;
  const int64_t last = 2 * chunk_length - 2;
  return {first, last - first + 1};
}

DecoderBlockImpl::DecoderBlockImpl(const ModelConfig& config, bool is_retro_layer,
                                   const std::shared_ptr<DistanceCache>& distances)
    : chunk_length_(config.chunk_length),
      cca_positions_(config.cca_positions),
      dropout_(config.dropout) {
  const auto attention = [&](const char* name, int64_t context_width) {
    return register_module(
        name, std::make_shared<AttentionImpl>(decoder_shape(config, context_width), distances));
  };
  self_attention = attention("self_attention", config.width);
  if (is_retro_layer) cross_attention = attention("cross_attention", config.encoder.width);
  feed_forward = register_module(
      "feed_forward", std::make_shared<FeedForwardImpl>(config.width, config.feed_forward));
}

at::Tensor DecoderBlockImpl::add_self_attention(const at::Tensor& stream_BND,
                                                const SequenceMask& mask,
                                                Precision precision) const {
  const ProjectedHeads heads =
      self_attention->project_self(self_attention->normed(stream_BND), precision);
  AttentionOperands operands =
      self_attention->position_operands({0, stream_BND.size(1)}, precision);
  operands.query_BNHA = heads.query;
  operands.key_BTGA = heads.key;
  operands.value_BTGA = heads.value;
  operands.key_is_real_BT = mask.real_BN;
  operands.query_segment_BN = mask.document_BN;
  operands.key_segment_BT = mask.document_BN;
  AttentionGeometry geometry;
  geometry.is_causal = true;
  return add_attended(stream_BND, *self_attention, relative_attention(operands, geometry),
                      residual_settings(*this, dropout_, precision));
}

at::Tensor DecoderBlockImpl::add_cross_attention(const at::Tensor& stream_BND,
                                                 const EncodedNeighbours& neighbours,
                                                 Precision precision) const {
  const ProjectedHeads heads = cross_attention->project_context(neighbours.encoded_BLTE, precision);
  ChunkedCrossAttentionOperands operands;
  operands.query_BNHA =
      cross_attention->project_query(cross_attention->normed(stream_BND), precision);
  operands.key_BLTGA = heads.key;
  operands.value_BLTGA = heads.value;
  operands.key_is_real_BLT = neighbours.is_real_BLT;
  operands.row_is_active_BN = neighbours.row_is_active_BN;
  operands.content_bias_HA = cross_attention->content_bias;
  const DistanceRange distances =
      cross_attention_distances(chunk_length_, neighbours.retrieved_length);
  if (cca_positions_) {
    operands.relative_XHA = cross_attention->relative_rows(distances, precision);
    operands.position_bias_HA = cross_attention->position_bias;
  }
  const at::Tensor attended_BNHA = chunked_cross_attention(
      operands, chunk_length_, neighbours.retrieved_length, distances.first);
  return add_attended(stream_BND, *cross_attention, attended_BNHA,
                      residual_settings(*this, dropout_, precision));
}

at::Tensor DecoderBlockImpl::add_feed_forward(const at::Tensor& stream_BND,
                                              Precision precision) const {
  return add_fed_forward(stream_BND, *feed_forward, residual_settings(*this, dropout_, precision));
}

}  // namespace retro
