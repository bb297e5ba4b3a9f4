// The parts of one attention: norm, projections, relative positions. Self-attention and
// cross-attention differ in what the keys read (METHOD section 3).
#pragma once

#include <cstdint>
#include <memory>

#include "retro/model/distance_cache.h"
#include "retro/model/norm.h"
#include "retro/model/weight.h"
#include "retro/ops/precision.h"
#include "retro/ops/relative_attention.h"

namespace retro {

struct AttentionShape {
  int64_t width = 0;          ///< of the stream that queries and is written to
  int64_t context_width = 0;  ///< of what keys and values read
  int64_t heads = 0;
  int64_t head_width = 0;
  bool has_context_norm = false;
  int64_t key_value_heads = 0;  ///< G; 0: as many as heads
  bool has_bias = false;        ///< of the four projections
  bool is_relative = true;      ///< has `relative` and the two position biases
  NormShape norm = {};          ///< width 0: RMSNorm of `width`
};

/// Projections of one input, [..., H, A]; keys and values [..., G, A].
struct ProjectedHeads {
  at::Tensor query;  ///< undefined for a context, which does not query
  at::Tensor key;
  at::Tensor value;
};

/// Projections are public, so that cached decoding can keep keys and values.
class AttentionImpl : public torch::nn::Module {
 public:
  /// `distances` is shared by the layers of a model; null: a cache of its own.
  explicit AttentionImpl(const AttentionShape& shape,
                         std::shared_ptr<DistanceCache> distances = nullptr);

  /// Norm of the stream, [..., width].
  at::Tensor normed(const at::Tensor& stream) const;
  /// RMSNorm of the context with the gain of its own (query conditioning).
  at::Tensor normed_context(const at::Tensor& context) const;
  /// [..., width] -> [..., H, A].
  at::Tensor project_query(const at::Tensor& normed, Precision precision) const;
  /// [..., context_width] -> [..., G, A].
  at::Tensor project_key(const at::Tensor& context, Precision precision) const;
  at::Tensor project_value(const at::Tensor& context, Precision precision) const;
  /// The projections of one input together: its gradient is formed as one sum.
  ProjectedHeads project_self(const at::Tensor& normed, Precision precision) const;
  ProjectedHeads project_context(const at::Tensor& context, Precision precision) const;
  /// [..., H, A] -> [..., width].
  at::Tensor project_output(const at::Tensor& attended, Precision precision) const;
  /// stream + project_output(attended), in one pass.
  at::Tensor add_output(const at::Tensor& stream, const at::Tensor& attended,
                        Precision precision) const;
  /// W_R s(distance), [count, H, A].
  at::Tensor relative_rows(const DistanceRange& range, Precision precision) const;
  /// relative_rows with the biases, ready for relative_attention (nothing where positions are not
  /// relative); query, key, value and masks are the caller's.
  AttentionOperands position_operands(const DistanceRange& range, Precision precision) const;

  /// Keeps the four projections as blocks (WeightImpl::pack); returns their elements.
  int64_t pack(WeightFormat format);

  const AttentionShape& shape() const { return shape_; }

  at::Tensor content_bias, position_bias;  ///< undefined where positions are not relative

 private:
  void register_relative();
  at::Tensor split_heads(const at::Tensor& projected) const;
  AttentionShape shape_;
  std::shared_ptr<DistanceCache> distances_;
  std::shared_ptr<NormImpl> norm_, context_norm_;
  std::shared_ptr<WeightImpl> query_, key_, value_, output_, relative_;
};

}  // namespace retro
