// The autograd node behind relative_attention and chunked_cross_attention.
#pragma once

#include <ATen/core/Tensor.h>

#include "retro/ops/relative_attention.h"

namespace retro {

/// How rows and keys fall into independent items. Plain attention: one item per batch element.
/// Chunked: keys and values are [B, L, T, G, A] and item (b, u) has rows u * length + length - 1 +
/// i, i < length, i.e. the last token of chunk u and the first of chunk u + 1, cut at the
/// sequence's end.
struct AttentionArrangement {
  AttentionGeometry geometry;
  int64_t chunk_length = 0;  ///< 0: plain
};

/// Checked operands; undefined tensors are absent. `row_is_active_BN` only matters to the chunked
/// form.
struct AttentionTensors {
  at::Tensor query;
  at::Tensor key;
  at::Tensor value;
  at::Tensor relative;
  at::Tensor content_bias;
  at::Tensor position_bias;
  at::Tensor key_is_real;
  at::Tensor row_is_active;
  at::Tensor query_segment;
  at::Tensor key_segment;
};

/// [B, N, H, A], differentiable. Throws Error for a device without an implementation.
at::Tensor apply_attention(const AttentionTensors& tensors,
                           const AttentionArrangement& arrangement);

/// Shape checks that both forms share: relative and biases against heads, width, and the distances
/// that can be reached, [lowest, highest].
void check_position_operands(const AttentionTensors& tensors, int64_t first_distance,
                             int64_t lowest, int64_t highest);

}  // namespace retro
