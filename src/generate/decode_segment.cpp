#include "decode_segment.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>

namespace retro {

namespace {

constexpr Precision kPrecision = Precision::kFloat32;

/// Attention of a segment's queries [count, H, A] over everything its cache holds, itself included.
at::Tensor attend_cache(const AttentionImpl& attention, size_t layer, const at::Tensor& query_THA,
                        const at::Tensor& relative_XHA, const DecodeSegment& segment) {
  const int64_t length = segment.start + segment.count;
  AttentionOperands operands;
  operands.query_BNHA = query_THA.unsqueeze(0);
  operands.key_BTGA = segment.cache->key_NHA[layer].narrow(0, 0, length).unsqueeze(0);
  operands.value_BTGA = segment.cache->value_NHA[layer].narrow(0, 0, length).unsqueeze(0);
  operands.key_is_real_BT = segment.cache->is_real_N.narrow(0, 0, length).unsqueeze(0);
  operands.relative_XHA = relative_XHA;
  operands.content_bias_HA = attention.content_bias;
  operands.position_bias_HA = attention.position_bias;
  AttentionGeometry geometry;
  geometry.is_causal = true;
  geometry.causal_offset = segment.start;
  geometry.distance_offset = segment.start;
  return relative_attention(operands, geometry).squeeze(0);
}

/// Attention of queries [count, H, A] that are rows first_row, first_row + 1, ... of the chunk
/// `cross` belongs to.
at::Tensor attend_neighbours(const AttentionImpl& attention, size_t retro_layer,
                             const at::Tensor& query_THA, const CrossGeometry& cca,
                             const CrossCache& cross, int64_t first_row) {
  const int64_t retrieved_length = 2 * cca.chunk_length;
  AttentionOperands operands;
  operands.query_BNHA = query_THA.unsqueeze(0);
  operands.key_BTGA = cross.key_THA[retro_layer].unsqueeze(0);
  operands.value_BTGA = cross.value_THA[retro_layer].unsqueeze(0);
  operands.key_is_real_BT = cross.is_real_T.unsqueeze(0);
  operands.content_bias_HA = attention.content_bias;
  if (cca.relative_XHA.defined()) {
    operands.relative_XHA = cca.relative_XHA;
    operands.position_bias_HA = attention.position_bias;
  }
  AttentionGeometry geometry;
  geometry.key_period = retrieved_length;
  geometry.distance_offset = first_row + cca.chunk_length - 1;
  geometry.first_distance = cross_attention_distances(cca.chunk_length, retrieved_length).first;
  return relative_attention(operands, geometry).squeeze(0);
}

bool reads_neighbours(const DecodeSegment& segment) {
  return !segment.cache->cross.is_empty() || !segment.next_cross.is_empty();
}

}  // namespace

at::Tensor add_cached_self_attention(const DecoderBlockImpl& block, size_t layer,
                                     const at::Tensor& stream_TD, const at::Tensor& relative_XHA,
                                     std::vector<DecodeSegment>& segments) {
  const AttentionImpl& attention = *block.self_attention;
  const at::Tensor normed_TD = attention.normed(stream_TD);
  const at::Tensor query_THA = attention.project_query(normed_TD, kPrecision);
  const at::Tensor key_THA = attention.project_key(normed_TD, kPrecision);
  const at::Tensor value_THA = attention.project_value(normed_TD, kPrecision);
  at::Tensor attended_THA = segments.size() == 1 ? at::Tensor() : at::empty_like(query_THA);
  for (const DecodeSegment& segment : segments) {
    segment.cache->key_NHA[layer]
        .narrow(0, segment.start, segment.count)
        .copy_(segment.rows(key_THA));
    segment.cache->value_NHA[layer]
        .narrow(0, segment.start, segment.count)
        .copy_(segment.rows(value_THA));
    const at::Tensor attended =
        attend_cache(attention, layer, segment.rows(query_THA), relative_XHA, segment);
    if (segments.size() == 1) {
      attended_THA = attended;
    } else {
      segment.rows(attended_THA).copy_(attended);
    }
  }
  return stream_TD + attention.project_output(attended_THA, kPrecision);
}

at::Tensor add_cached_cross_attention(const DecoderBlockImpl& block, size_t retro_layer,
                                      const at::Tensor& stream_TD, const CrossGeometry& geometry,
                                      const std::vector<DecodeSegment>& segments) {
  bool is_needed = false;
  for (const DecodeSegment& segment : segments) is_needed = is_needed || reads_neighbours(segment);
  if (!is_needed) return stream_TD;
  const AttentionImpl& attention = *block.cross_attention;
  const at::Tensor query_THA = attention.project_query(attention.normed(stream_TD), kPrecision);
  const at::Tensor attended_THA = at::zeros_like(query_THA);
  for (const DecodeSegment& segment : segments) {
    const at::Tensor query = segment.rows(query_THA);
    const at::Tensor attended = segment.rows(attended_THA);
    const int64_t before_last = segment.count - (segment.completes_chunk ? 1 : 0);
    if (before_last > 0 && !segment.cache->cross.is_empty()) {
      // Row 0 of the chunk before is its own last token, so its chunk's first token is row 1.
      const int64_t first_row = segment.start % geometry.chunk_length + 1;
      attended.narrow(0, 0, before_last)
          .copy_(attend_neighbours(attention, retro_layer, query.narrow(0, 0, before_last),
                                   geometry, segment.cache->cross, first_row));
    }
    if (segment.completes_chunk && !segment.next_cross.is_empty()) {
      attended.narrow(0, before_last, 1)
          .copy_(attend_neighbours(attention, retro_layer, query.narrow(0, before_last, 1),
                                   geometry, segment.next_cross, 0));
    }
  }
  return stream_TD + attention.project_output(attended_THA, kPrecision);
}

}  // namespace retro
