// One decoder layer: self-attention, chunked cross-attention in the layers of P, feed-forward.
#pragma once

#include <memory>

#include "retro/model/attention.h"
#include "retro/model/feed_forward.h"
#include "retro/model/model_config.h"
#include "retro/model/rotary_table.h"

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

/// What the layers of a model share.
struct PositionTables {
  std::shared_ptr<DistanceCache> distances;
  std::shared_ptr<RotaryTable> rotary;  ///< null: no rotary positions anywhere
};
PositionTables make_position_tables(const ModelConfig& config);

class DecoderBlockImpl : public torch::nn::Module {
 public:
  DecoderBlockImpl(const ModelConfig& config, bool is_retro_layer, const PositionTables& tables);

  /// Stream in, stream out; each adds its part. [B, N, D].
  at::Tensor add_self_attention(const at::Tensor& stream_BND, const SequenceMask& mask,
                                Precision precision) const;
  at::Tensor add_cross_attention(const at::Tensor& stream_BND, const EncodedNeighbours& neighbours,
                                 Precision precision) const;
  at::Tensor add_feed_forward(const at::Tensor& stream_BND, Precision precision) const;
  bool is_retro_layer() const { return cross_attention != nullptr; }
  /// Of self-attention's queries and keys; null: their positions are not rotary.
  RotaryTable* rotary() const { return rotary_.get(); }
  /// Of cross-attention's, in the frame of METHOD section 3: queries at m-1 .. 2m-2, keys at 0 ..
  /// r-1. Null: not rotary.
  RotaryTable* cross_rotary() const { return cross_rotary_.get(); }
  /// Self-attention and feed-forward are not trained and nothing of them is dropped.
  void freeze_base();
  /// Keeps their projections as blocks (WeightImpl::pack); returns the elements.
  int64_t pack_base(WeightFormat format);

  std::shared_ptr<AttentionImpl> self_attention;
  std::shared_ptr<AttentionImpl> cross_attention;  ///< null outside P
  std::shared_ptr<FeedForwardImpl> feed_forward;

 private:
  int64_t chunk_length_;
  bool cca_positions_;
  double dropout_;       ///< of cross-attention
  double base_dropout_;  ///< of self-attention and feed-forward
  std::shared_ptr<RotaryTable> rotary_, cross_rotary_;
};

/// Where rotary cross-attention's query at sequence position p stands: m-1 + (p - (m-1)) mod m, for
/// `count` positions from `first` on (those before m-1 attend to nothing). int64 [count], made on
/// `device`.
at::Tensor cross_query_positions(int64_t chunk_length, int64_t first, int64_t count,
                                 at::Device device = at::kCPU);

/// Distances of chunked cross-attention, -(r - m) .. 2m - 2 (METHOD section 3's table).
DistanceRange cross_attention_distances(int64_t chunk_length, int64_t retrieved_length);

}  // namespace retro
