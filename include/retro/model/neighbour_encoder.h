// The bidirectional encoder of retrieved chunks, conditioned on the chunk that retrieved them
// (METHOD section 3).
#pragma once

#include <memory>
#include <vector>

#include "retro/model/attention.h"
#include "retro/model/feed_forward.h"
#include "retro/model/model_config.h"
#include "retro/model/recompute.h"

namespace retro {

/// H_u: the decoder's activations of each chunk at the first retro layer, after its self-attention.
struct ChunkContext {
  at::Tensor hidden_XMD;  ///< X = B * L chunks
  at::Tensor is_real_XM;  ///< bool or undefined
};

class EncoderLayerImpl : public torch::nn::Module {
 public:
  EncoderLayerImpl(const ModelConfig& config, bool is_conditioned,
                   const std::shared_ptr<DistanceCache>& distances);
  /// stream_YRE: Y = X * K neighbours.
  at::Tensor forward(const at::Tensor& stream_YRE, const at::Tensor& is_real_YR,
                     const ChunkContext& context, Precision precision) const;

  std::shared_ptr<AttentionImpl> self_attention;
  std::shared_ptr<AttentionImpl> cross_attention;  ///< null outside P_enc
  std::shared_ptr<FeedForwardImpl> feed_forward;

 private:
  at::Tensor add_self_attention(const at::Tensor& stream_YRE, const at::Tensor& is_real_YR,
                                Precision precision) const;
  at::Tensor add_cross_attention(const at::Tensor& stream_YRE, const ChunkContext& context,
                                 Precision precision) const;

  double dropout_;
};

class NeighbourEncoderImpl : public torch::nn::Module {
 public:
  NeighbourEncoderImpl(const ModelConfig& config, const std::shared_ptr<DistanceCache>& distances);
  /// neighbours_XKR ids, -1 padding (never attended to); returns [X, K, R, E]. `shared_embedding`:
  /// the decoder's matrix, used when share_embeddings.
  at::Tensor forward(const at::Tensor& neighbours_XKR, const ChunkContext& context,
                     const at::Tensor& shared_embedding, Precision precision) const;
  void set_recompute(Recompute recompute) { recompute_ = recompute; }

  std::vector<std::shared_ptr<EncoderLayerImpl>> layers;

 private:
  std::shared_ptr<WeightImpl> embed_;
  std::shared_ptr<NormImpl> norm_;
  Recompute recompute_ = Recompute::kNone;
};

}  // namespace retro
