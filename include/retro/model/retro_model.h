// RETRO: decoder with chunked cross-attention and the encoder of its neighbours (METHOD section 3).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "retro/model/decoder.h"
#include "retro/model/model_config.h"
#include "retro/model/neighbour_encoder.h"
#include "retro/model/recompute.h"
#include "retro/ops/block_matrix.h"
#include "retro/ops/precision.h"

namespace retro {

/// What a forward pass reads. Tensors may be undefined where it says so, and may lie on the CPU
/// whatever the model's device: `hidden` moves them (in the background where their memory is
/// pinned).
struct ModelInput {
  at::Tensor tokens_BN;        ///< int64 ids
  at::Tensor real_BN;          ///< bool; undefined: all real. False: never a key, never in H_u
  at::Tensor neighbours_BLKR;  ///< int64 ids, -1 padding; L = floor(N/m); undefined or K = 0:
                               ///< retrieval off
  at::Tensor document_BN;      ///< int64; used only with attend_across_documents = false
  at::Tensor frozen_BND;       ///< what frozen_stream gives for these tokens; undefined: computed
};

/// True for a parameter of the decoder without cross-attention: what a base model has.
bool is_base_weight(std::string_view name);

/// Parameters carry METHOD section 3's names. A model with empty cca_layers is a baseline.
class RetroModelImpl : public torch::nn::Module {
 public:
  /// Every weight is 0: for whoever fills them all, from a file.
  explicit RetroModelImpl(const ModelConfig& config);
  /// Weights are drawn from named random streams: same seed, same weights, whatever the thread
  /// count.
  RetroModelImpl(const ModelConfig& config, uint64_t seed);

  /// Decoder activations after the final norm, [B, N, D], as ops/precision.h's as_activations
  /// has them.
  at::Tensor hidden(const ModelInput& input);
  /// [B, N, V], float32; for tests and sampling. Training uses linear_cross_entropy(hidden,
  /// output_weight()).
  at::Tensor logits(const ModelInput& input);
  at::Tensor output_weight() const;

  /// What a frozen base computes before anything new takes part: the stream after the first retro
  /// layer's self-attention, [B, N, D], without gradients. It depends on tokens_BN, real_BN and
  /// document_BN alone and can be given back as ModelInput::frozen_BND.
  at::Tensor frozen_stream(const ModelInput& input);

  const ModelConfig& config() const { return config_; }
  void set_precision(Precision precision);
  Precision precision() const { return precision_; }
  /// Changes memory and time, not one bit of the result.
  void set_recompute(Recompute recompute);
  /// Where the weights are; `to(device)` moves them.
  at::Device device() const { return decoder->embedding_weight().device(); }
  int64_t num_parameters() const;
  /// Of parameters that want a gradient: fewer with a frozen base.
  int64_t num_trained_parameters() const;

  /// RETRO-fitting (METHOD section 5): the decoder's own weights, those of a base model of this
  /// content hash, are no longer trained, dropped out or written to checkpoints; nothing below the
  /// first retro layer is kept for the backward pass.
  void freeze_base(const std::string& base_hash);
  /// Empty: no frozen base.
  const std::string& base_hash() const { return base_hash_; }
  /// Keeps the projections of the decoder's own layers in fewer bits; they are frozen by this.
  /// Embeddings, norms, biases and what is new stay float32. Retrieval off is then the base in that
  /// format.
  void pack_base(WeightFormat format);
  /// "float32", "bfloat16" or "q8_0".
  std::string base_format() const;
  /// Multiply-adds x 2 of one forward pass with `batch` sequences of `length` and `neighbours` per
  /// chunk (no recomputation).
  double forward_flops(int64_t batch, int64_t length, int64_t neighbours) const;

  std::shared_ptr<DecoderImpl> decoder;
  std::shared_ptr<NeighbourEncoderImpl> encoder;  ///< null for a baseline

 private:
  SequenceMask sequence_mask(const ModelInput& input) const;
  at::Tensor embedded(const ModelInput& input) const;
  at::Tensor add_self_attention(const std::shared_ptr<DecoderBlockImpl>& layer,
                                const at::Tensor& stream_BND, const SequenceMask& mask) const;
  at::Tensor add_feed_forward(const std::shared_ptr<DecoderBlockImpl>& layer,
                              const at::Tensor& stream_BND) const;
  EncodedNeighbours encode_neighbours(const at::Tensor& stream_BND, const ModelInput& input) const;
  ModelConfig config_;
  std::string base_hash_;
  std::optional<WeightFormat> base_format_;
  int64_t num_packed_ = 0;  ///< weights that are kept as blocks, no parameters any more
  Precision precision_ = Precision::kFloat32;
  Recompute recompute_ = Recompute::kNone;
};
TORCH_MODULE(RetroModel);

}  // namespace retro
