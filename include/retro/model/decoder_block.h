// One decoder layer: self-attention, chunked cross-attention in the layers of P, feed-forward.
#pragma once

#include <memory>

#include "retro/model/attention.h"
#include "retro/model/feed_forward.h"
#include "retro/model/model_config.h"

namespace retro {

/// What the cross-attention of every retro layer reads.
struct EncodedNeighbours {
  at::Tensor encoded_BLTE;       ///< T = K * R, neighbour after neighbour
  at::Tensor is_real_BLT;        ///< bool
  at::Tensor row_is_active_BN;   ///< bool or undefined
  int64_t retrieved_length = 0;  ///< R
};

/// Masks of the decoder's self-attention; undefined tensors mean "everything".
struct SequenceMask {
  at::Tensor real_BN;
  at::Tensor document_BN;  ///< defined: positions see their own document only
};

class DecoderBlockImpl : public torch::nn::Module {
 public:
  DecoderBlockImpl(const ModelConfig& config, bool is_retro_layer,
                   const std::shared_ptr<DistanceCache>& distances);

  /// Stream in, stream out; each adds its part. [B, N, D].
  at::Tensor add_self_attention(const at::Tensor& stream_BND, const SequenceMask& mask,
                                Precision precision) const;
  at::Tensor add_cross_attention(const at::Tensor& stream_BND, const EncodedNeighbours& neighbours,
                                 Precision precision) const;
  at::Tensor add_feed_forward(const at::Tensor& stream_BND, Precision precision) const;
  bool is_retro_layer() const { return cross_attention != nullptr; }

  std::shared_ptr<AttentionImpl> self_attention;
  std::shared_ptr<AttentionImpl> cross_attention;  ///< null outside P
  std::shared_ptr<FeedForwardImpl> feed_forward;

 private:
  int64_t chunk_length_;
  bool cca_positions_;
  double dropout_;
};

/// Distances of chunked cross-attention, -(r - m) .. 2m - 2 (METHOD section 3's table).
DistanceRange cross_attention_distances(int64_t chunk_length, int64_t retrieved_length);

}  // namespace retro
