// Chunked cross-attention: relative attention arranged over chunks (METHOD section 3).
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace retro {

/// L = floor(N / chunk_length) chunks; T = K * R retrieved positions, neighbour after neighbour.
struct ChunkedCrossAttentionOperands {
  at::Tensor query_BNHA;
  at::Tensor key_BLTGA;
  at::Tensor value_BLTGA;
  at::Tensor relative_XHA;  ///< distances -(R - chunk_length)..(2*chunk_length - 2), first_distance
                            ///< as given
  at::Tensor content_bias_HA;
  at::Tensor position_bias_HA;
  at::Tensor key_is_real_BLT;   ///< bool
  at::Tensor row_is_active_BN;  ///< bool or undefined: rows set to false get exactly 0 (chunk u of
                                ///< another document)
};

/// Position p >= m-1 attends to the neighbours of chunk floor((p-(m-1))/m), as row i = (p-(m-1))
/// mod m, with delta = i - i' + (m-1), i' the position within its neighbour. Positions 0..m-2 get
/// exactly 0, as do rows whose chunk has no real retrieved token. All K*R positions share one
/// softmax. Nothing is copied or shifted: the offset is index arithmetic.
at::Tensor chunked_cross_attention(const ChunkedCrossAttentionOperands& operands,
                                   int64_t chunk_length, int64_t retrieved_length,
                                   int64_t first_distance);

}  // namespace retro
