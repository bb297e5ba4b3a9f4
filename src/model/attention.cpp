#include "retro/model/attention.h"

#include <utility>

#include "retro/ops/linear.h"
#include "retro/ops/rms_norm.h"

namespace retro {

AttentionImpl::AttentionImpl(const AttentionShape& shape, std::shared_ptr<DistanceCache> distances)
    : shape_(shape),
      distances_(distances ? std::move(distances) : std::make_shared<DistanceCache>()) {
  const int64_t inner = shape.heads * shape.head_width;
  const auto weight = [this](const char* name, std::initializer_list<int64_t> sizes) {
    return register_module(name, std::make_shared<WeightImpl>(sizes));
  };
  norm_ = weight("norm", {shape.width});
  query_ = weight("query", {inner, shape.width});
  key_ = weight("key", {inner, shape.context_width});
  value_ = weight("value", {inner, shape.context_width});
  output_ = weight("output", {shape.width, inner});
  relative_ = weight("relative", {inner, shape.width});
  if (shape.has_context_norm) context_norm_ = weight("context_norm", {shape.context_width});
  content_bias = register_parameter("content_bias", torch::zeros({shape.heads, shape.head_width}));
  position_bias =
      register_parameter("position_bias", torch::zeros({shape.heads, shape.head_width}));
}

at::Tensor AttentionImpl::split_heads(const at::Tensor& projected) const {
  return projected.unflatten(-1, {shape_.heads, shape_.head_width});
}

at::Tensor AttentionImpl::normed(const at::Tensor& stream) const {
  return rms_norm(stream, norm_->weight);
}

at::Tensor AttentionImpl::normed_context(const at::Tensor& context) const {
  return rms_norm(context, context_norm_->weight);
}

at::Tensor AttentionImpl::project_query(const at::Tensor& normed, Precision precision) const {
  return split_heads(linear(normed, query_->weight, precision));
}

at::Tensor AttentionImpl::project_key(const at::Tensor& context, Precision precision) const {
  return split_heads(linear(context, key_->weight, precision));
}

at::Tensor AttentionImpl::project_value(const at::Tensor& context, Precision precision) const {
  return split_heads(linear(context, value_->weight, precision));
}

ProjectedHeads AttentionImpl::project_self(const at::Tensor& normed, Precision precision) const {
  const auto projected =
      linear_group(normed, {query_->weight, key_->weight, value_->weight}, precision);
  return {split_heads(projected[0]), split_heads(projected[1]), split_heads(projected[2])};
}

ProjectedHeads AttentionImpl::project_context(const at::Tensor& context,
                                              Precision precision) const {
  const auto projected = linear_group(context, {key_->weight, value_->weight}, precision);
  return {{}, split_heads(projected[0]), split_heads(projected[1])};
}

at::Tensor AttentionImpl::add_output(const at::Tensor& stream, const at::Tensor& attended,
                                     Precision precision) const {
  return linear_add(stream, attended.flatten(-2), output_->weight, precision);
}

at::Tensor AttentionImpl::project_output(const at::Tensor& attended, Precision precision) const {
  return linear(attended.flatten(-2), output_->weight, precision);
}

at::Tensor AttentionImpl::relative_rows(const DistanceRange& range, Precision precision) const {
  const at::Tensor features = distances_->features(range, shape_.width, relative_->weight);
  return split_heads(linear(features, relative_->weight, precision));
}

AttentionOperands AttentionImpl::position_operands(const DistanceRange& range,
                                                   Precision precision) const {
  AttentionOperands operands;
  operands.relative_XHA = relative_rows(range, precision);
  operands.content_bias_HA = content_bias;
  operands.position_bias_HA = position_bias;
  return operands;
}

}  // namespace retro
