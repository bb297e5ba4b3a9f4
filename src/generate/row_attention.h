// Attention of a few query rows over cached keys: one pass over keys, distances and values, nothing
// packed.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace retro {

/// float32; the last dimension contiguous.
struct RowAttentionOperands {
  at::Tensor query_NHA;
  at::Tensor key_TGA;  ///< G key/value heads serve H query heads, H a multiple of G
  at::Tensor value_TGA;
  at::Tensor key_is_real_T;     ///< bool
  at::Tensor relative_XHA;      ///< undefined: no position term
  at::Tensor content_bias_HA;   ///< b_u; undefined: none
  at::Tensor position_bias_HA;  ///< b_v; undefined without relative_XHA
};

/// delta(i, j) = i - (j mod key_period) + distance_offset is row delta - first_distance of
/// relative_XHA. Query i sees keys j <= i + causal_offset, or all.
struct RowAttentionGeometry {
  int64_t key_period = 0;  ///< 0: never restarts
  int64_t distance_offset = 0;
  int64_t first_distance = 0;
  bool is_causal = false;
  int64_t causal_offset = 0;
};

/// The same as ops/relative_attention, which packs its operands into tiles and pays for that with
/// few rows. [N, H, A].
at::Tensor row_attention(const RowAttentionOperands& operands,
                         const RowAttentionGeometry& geometry);

}  // namespace retro
