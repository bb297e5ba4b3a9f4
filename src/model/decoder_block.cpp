#include "retro/model/decoder_block.h"

#include <ATen/ops/arange.h>

#include "retro/ops/chunked_cross_attention.h"
#include "retro/ops/rotary.h"

#include "residual.h"

namespace retro {
namespace {

AttentionShape self_attention_shape(const ModelConfig& config) {
  const BlockConfig& block = config.block;
  return {.width = config.width,
          .context_width = config.width,
          .heads = config.heads,
          .head_width = config.head_width,
          .key_value_heads = block.key_value_heads,
          .has_bias = block.bias,
          .is_relative = block.positions == "relative",
          .norm = norm_shape(block, config.width)};
}

AttentionShape cross_attention_shape(const ModelConfig& config) {
  return {.width = config.width,
          .context_width = config.encoder.width,
          .heads = config.heads,
          .head_width = config.head_width,
          .is_relative = config.cca_scheme == "relative"};
}

FeedForwardShape feed_forward_shape(const ModelConfig& config) {
  const BlockConfig& block = config.block;
  return {.width = config.width,
          .inner_width = config.feed_forward,
          .is_gated = block.feed_forward == "swiglu",
          .has_bias = block.bias,
          .norm = norm_shape(block, config.width)};
}

/// Keys of every neighbour at positions 0 .. r-1.
at::Tensor rotate_retrieved(RotaryTable& rotary, const at::Tensor& key_BLTHA,
                            int64_t retrieved_length) {
  const RotaryAngles angles = rotary.first(retrieved_length, key_BLTHA);
  const at::Tensor by_neighbour = key_BLTHA.unflatten(2, {-1, retrieved_length});
  return rotate_pairs(by_neighbour, angles.cos_NF, angles.sin_NF).flatten(2, 3);
}

}  // namespace

DistanceRange cross_attention_distances(int64_t chunk_length, int64_t retrieved_length) {
  const int64_t first = chunk_length - retrieved_length;
  const int64_t last = 2 * chunk_length - 2;
  return {first, last - first + 1};
}

at::Tensor cross_query_positions(int64_t chunk_length, int64_t first, int64_t count,
                                 at::Device device) {
  const int64_t m = chunk_length;
  const auto options = at::TensorOptions().dtype(at::kLong).device(device);
  return (at::arange(first, first + count, options) + 1).remainder(m) + (m - 1);
}

PositionTables make_position_tables(const ModelConfig& config) {
  PositionTables tables{std::make_shared<DistanceCache>(), nullptr};
  if (config.block.positions == "rotary" || config.cca_scheme == "rotary")
    tables.rotary = std::make_shared<RotaryTable>(config.block.rotary, config.head_width);
  return tables;
}

DecoderBlockImpl::DecoderBlockImpl(const ModelConfig& config, bool is_retro_layer,
                                   const PositionTables& tables)
    : chunk_length_(config.chunk_length),
      cca_positions_(config.cca_positions),
      dropout_(config.dropout),
      base_dropout_(config.dropout) {
  const auto attention = [&](const char* name, const AttentionShape& shape) {
    return register_module(name, std::make_shared<AttentionImpl>(shape, tables.distances));
  };
  self_attention = attention("self_attention", self_attention_shape(config));
  if (is_retro_layer) cross_attention = attention("cross_attention", cross_attention_shape(config));
  feed_forward = register_module("feed_forward",
                                 std::make_shared<FeedForwardImpl>(feed_forward_shape(config)));
  if (config.block.positions == "rotary") rotary_ = tables.rotary;
  if (config.cca_scheme == "rotary" && cca_positions_) cross_rotary_ = tables.rotary;
}

void DecoderBlockImpl::freeze_base() {
  base_dropout_ = 0;
  for (at::Tensor& weight : self_attention->parameters()) weight.set_requires_grad(false);
  for (at::Tensor& weight : feed_forward->parameters()) weight.set_requires_grad(false);
}

int64_t DecoderBlockImpl::pack_base(WeightFormat format) {
  return self_attention->pack(format) + feed_forward->pack(format);
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
  if (rotary_) {
    const RotaryAngles angles = rotary_->first(stream_BND.size(1), stream_BND);
    operands.query_BNHA = rotate_pairs(heads.query, angles.cos_NF, angles.sin_NF);
    operands.key_BTGA = rotate_pairs(heads.key, angles.cos_NF, angles.sin_NF);
  }
  operands.key_is_real_BT = mask.real_BN;
  operands.query_segment_BN = mask.document_BN;
  operands.key_segment_BT = mask.document_BN;
  AttentionGeometry geometry;
  geometry.is_causal = true;
  return add_attended(stream_BND, *self_attention, relative_attention(operands, geometry),
                      residual_settings(*this, base_dropout_, precision));
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
  if (cross_rotary_) {
    const at::Tensor positions =
        cross_query_positions(chunk_length_, 0, stream_BND.size(1), stream_BND.device());
    const RotaryAngles angles = cross_rotary_->of(positions, 2 * chunk_length_ - 1, stream_BND);
    operands.query_BNHA = rotate_pairs(operands.query_BNHA, angles.cos_NF, angles.sin_NF);
    operands.key_BLTGA =
        rotate_retrieved(*cross_rotary_, operands.key_BLTGA, neighbours.retrieved_length);
  } else if (cca_positions_) {
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
  return add_fed_forward(stream_BND, *feed_forward,
                         residual_settings(*this, base_dropout_, precision));
}

}  // namespace retro
