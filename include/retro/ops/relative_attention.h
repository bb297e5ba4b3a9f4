// Attention with Transformer-XL relative positions (METHOD section 3): one operation, three uses.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace retro {

/// Features of distances first..first+count-1: [count, width], S/2 sines then S/2 cosines of delta
/// * 10000^(-2j/S).
at::Tensor distance_features(int64_t first_distance, int64_t count, int64_t width,
                             at::ScalarType dtype);

/// Operands. G key/value heads serve H query heads (H a multiple of G). Undefined tensors mean
/// "absent".
struct AttentionOperands {
  at::Tensor query_BNHA;
  at::Tensor key_BTGA;
  at::Tensor value_BTGA;
  at::Tensor
      relative_XHA;  ///< row x: W_R s(first_distance + x), per head; undefined: no position term
  at::Tensor content_bias_HA;   ///< b_u
  at::Tensor position_bias_HA;  ///< b_v
  at::Tensor key_is_real_BT;    ///< bool; false keys are never attended to, whatever they hold (NaN
                                ///< included)
  at::Tensor
      query_segment_BN;  ///< int64; with key_segment_BT: a query sees keys of its own segment only
  at::Tensor key_segment_BT;
};

/// logit(i,j) = [ (q_i + b_u) . k_j + (q_i + b_v) . relative[delta(i,j) - first_distance] ] /
/// sqrt(A) with delta(i,j) = i - (j mod key_period) + distance_offset.
struct AttentionGeometry {
  bool is_causal = false;     ///< query i sees keys j <= i + causal_offset
  int64_t causal_offset = 0;  ///< keys before the first query (cached decoding)
  int64_t distance_offset = 0;
  int64_t key_period = 0;      ///< 0: T. CCA: r, distances restart at every neighbour
  int64_t first_distance = 0;  ///< distance of relative_XHA's row 0
};

/// Returns [B, N, H, A]. A query row without a single visible key gives exactly 0 (and gives no
/// gradient). Forward streams over tiles of keys and stores no score matrix; backward recomputes
/// it. float32 and float64; deterministic. Last dimension contiguous, other strides free. Throws
/// Error naming a shape that does not fit.
at::Tensor relative_attention(const AttentionOperands& operands, const AttentionGeometry& geometry);

}  // namespace retro
