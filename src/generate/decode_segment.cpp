#include "decode_segment.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>

#include "retro/ops/relative_attention.h"
#include "retro/ops/rotary.h"

#include "row_attention.h"

namespace retro {

namespace {

/// Rows up to which packing keys into tiles costs more than it saves (on the CPU).
constexpr int64_t kFewRows = 8;

at::Tensor attend(const RowAttentionOperands& rows, const RowAttentionGeometry& geometry) {
  const bool is_row_by_row = rows.query_NHA.is_cpu() && rows.query_NHA.size(0) <= kFewRows;
  if (is_row_by_row) return row_attention(rows, geometry);
  AttentionOperands operands;
  operands.query_BNHA = rows.query_NHA.unsqueeze(0);
  operands.key_BTGA = rows.key_TGA.unsqueeze(0);
  operands.value_BTGA = rows.value_TGA.unsqueeze(0);
  operands.key_is_real_BT = rows.key_is_real_T.unsqueeze(0);
  operands.relative_XHA = rows.relative_XHA;
  operands.content_bias_HA = rows.content_bias_HA;
  operands.position_bias_HA = rows.position_bias_HA;
  return relative_attention(operands, {.is_causal = geometry.is_causal,
                                       .causal_offset = geometry.causal_offset,
                                       .distance_offset = geometry.distance_offset,
                                       .key_period = geometry.key_period,
                                       .first_distance = geometry.first_distance})
      .squeeze(0);
}

/// Attention of a segment's queries [count, H, A] over everything its cache holds, itself included.
at::Tensor attend_cache(const AttentionImpl& attention, size_t layer, const at::Tensor& query_THA,
                        const at::Tensor& relative_XHA, const DecodeSegment& segment) {
  const int64_t length = segment.start + segment.count;
  return attend(
      {.query_NHA = query_THA,
       .key_TGA = segment.cache->key_NGA[layer].narrow(0, 0, length),
       .value_TGA = segment.cache->value_NGA[layer].narrow(0, 0, length),
       .key_is_real_T = segment.cache->is_real_N.narrow(0, 0, length),
       .relative_XHA = relative_XHA,
       .content_bias_HA = attention.content_bias,
       .position_bias_HA = attention.position_bias},
      {.distance_offset = segment.start, .is_causal = true, .causal_offset = segment.start});
}

/// Attention of queries [count, H, A] that are rows first_row, first_row + 1, ... of the chunk
/// `cross` belongs to.
at::Tensor attend_neighbours(const AttentionImpl& attention, size_t retro_layer,
                             const at::Tensor& query_THA, const CrossGeometry& cca,
                             const CrossCache& cross, int64_t first_row) {
  const int64_t retrieved_length = 2 * cca.chunk_length;
  const bool has_positions = cca.relative_XHA.defined();
  at::Tensor query_rotated_THA = query_THA;
  if (cca.angles.cos_NF.defined()) {
    // Row i stands at m - 1 + i of the common frame.
    const int64_t first = cca.chunk_length - 1 + first_row, count = query_THA.size(0);
    query_rotated_THA = rotate_pairs(query_THA, cca.angles.cos_NF.narrow(0, first, count),
                                     cca.angles.sin_NF.narrow(0, first, count));
  }
  return attend(
      {.query_NHA = query_rotated_THA,
       .key_TGA = cross.key_THA[retro_layer],
       .value_TGA = cross.value_THA[retro_layer],
       .key_is_real_T = cross.is_real_T,
       .relative_XHA = cca.relative_XHA,
       .content_bias_HA = attention.content_bias,
       .position_bias_HA = has_positions ? attention.position_bias : at::Tensor()},
      {.key_period = retrieved_length,
       .distance_offset = first_row + cca.chunk_length - 1,
       .first_distance = cross_attention_distances(cca.chunk_length, retrieved_length).first});
}

bool reads_neighbours(const DecodeSegment& segment) {
  return !segment.cache->cross.is_empty() || !segment.next_cross.is_empty();
}

}  // namespace

at::Tensor add_cached_self_attention(const DecoderBlockImpl& block, size_t layer,
                                     const at::Tensor& stream_TD, const SelfGeometry& geometry,
                                     std::vector<DecodeSegment>& segments) {
  const AttentionImpl& attention = *block.self_attention;
  const at::Tensor normed_TD = attention.normed(stream_TD);
  at::Tensor query_THA = attention.project_query(normed_TD, kDecodingPrecision);
  at::Tensor key_TGA = attention.project_key(normed_TD, kDecodingPrecision);
  const at::Tensor value_TGA = attention.project_value(normed_TD, kDecodingPrecision);
  if (block.rotary() != nullptr) {
    query_THA = rotate_pairs(query_THA, geometry.angles.cos_NF, geometry.angles.sin_NF);
    key_TGA = rotate_pairs(key_TGA, geometry.angles.cos_NF, geometry.angles.sin_NF);
  }
  at::Tensor attended_THA = segments.size() == 1 ? at::Tensor() : at::empty_like(query_THA);
  for (const DecodeSegment& segment : segments) {
    segment.cache->key_NGA[layer]
        .narrow(0, segment.start, segment.count)
        .copy_(segment.rows(key_TGA));
    segment.cache->value_NGA[layer]
        .narrow(0, segment.start, segment.count)
        .copy_(segment.rows(value_TGA));
    const at::Tensor attended =
        attend_cache(attention, layer, segment.rows(query_THA), geometry.relative_XHA, segment);
    if (segments.size() == 1) {
      attended_THA = attended;
    } else {
      segment.rows(attended_THA).copy_(attended);
    }
  }
  return stream_TD + attention.project_output(attended_THA, kDecodingPrecision);
}

at::Tensor add_cached_cross_attention(const DecoderBlockImpl& block, size_t retro_layer,
                                      const at::Tensor& stream_TD, const CrossGeometry& geometry,
                                      const std::vector<DecodeSegment>& segments) {
  bool is_needed = false;
  for (const DecodeSegment& segment : segments) is_needed = is_needed || reads_neighbours(segment);
  if (!is_needed) return stream_TD;
  const AttentionImpl& attention = *block.cross_attention;
  const at::Tensor query_THA =
      attention.project_query(attention.normed(stream_TD), kDecodingPrecision);
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
  return stream_TD + attention.project_output(attended_THA, kDecodingPrecision);
}

}  // namespace retro
