#include "retro/model/attention.h"

#include <utility>

#include "retro/ops/linear.h"

namespace retro {

AttentionImpl::AttentionImpl(const AttentionShape& shape, std::shared_ptr<DistanceCache> distances)
    : shape_(shape),
      distances_(distances ? std::move(distances) : std::make_shared<DistanceCache>()) {
  if (shape_.key_value_heads == 0) shape_.key_value_heads = shape.heads;
  if (shape_.norm.width == 0) shape_.norm.width = shape.width;
  const int64_t inner = shape.heads * shape.head_width;
  const int64_t key_inner = shape_.key_value_heads * shape.head_width;
  const auto weight = [&](const char* name, std::initializer_list<int64_t> sizes) {
    return register_module(name, std::make_shared<WeightImpl>(sizes, shape.has_bias));
  };
  norm_ = register_module("norm", std::make_shared<NormImpl>(shape_.norm));
  query_ = weight("query", {inner, shape.width});
  key_ = weight("key", {key_inner, shape.context_width});
  value_ = weight("value", {key_inner, shape.context_width});
  output_ = weight("output", {shape.width, inner});
  if (shape.is_relative) register_relative();
  if (shape.has_context_norm) {
    context_norm_ =
        register_module("context_norm", std::make_shared<NormImpl>(NormShape{shape.context_width}));
  }
}

void AttentionImpl::register_relative() {
  const std::initializer_list<int64_t> sizes{shape_.heads * shape_.head_width, shape_.width};
  relative_ = register_module("relative", std::make_shared<WeightImpl>(sizes));
  content_bias =
      register_parameter("content_bias", torch::zeros({shape_.heads, shape_.head_width}));
  position_bias =
      register_parameter("position_bias", torch::zeros({shape_.heads, shape_.head_width}));
}

at::Tensor AttentionImpl::split_heads(const at::Tensor& projected) const {
  return projected.unflatten(-1, {-1, shape_.head_width});
}

at::Tensor AttentionImpl::normed(const at::Tensor& stream) const { return norm_->forward(stream); }

at::Tensor AttentionImpl::normed_context(const at::Tensor& context) const {
  return context_norm_->forward(context);
}

at::Tensor AttentionImpl::project_query(const at::Tensor& normed, Precision precision) const {
  return split_heads(query_->apply(normed, precision));
}

at::Tensor AttentionImpl::project_key(const at::Tensor& context, Precision precision) const {
  return split_heads(key_->apply(context, precision));
}

at::Tensor AttentionImpl::project_value(const at::Tensor& context, Precision precision) const {
  return split_heads(value_->apply(context, precision));
}

ProjectedHeads AttentionImpl::project_self(const at::Tensor& normed, Precision precision) const {
  const auto projected = apply_each({query_, key_, value_}, normed, precision);
  return {split_heads(projected[0]), split_heads(projected[1]), split_heads(projected[2])};
}

ProjectedHeads AttentionImpl::project_context(const at::Tensor& context,
                                              Precision precision) const {
  const auto projected = apply_each({key_, value_}, context, precision);
  return {{}, split_heads(projected[0]), split_heads(projected[1])};
}

at::Tensor AttentionImpl::add_output(const at::Tensor& stream, const at::Tensor& attended,
                                     Precision precision) const {
  return output_->apply_and_add(stream, attended.flatten(-2), precision);
}

at::Tensor AttentionImpl::project_output(const at::Tensor& attended, Precision precision) const {
  return output_->apply(attended.flatten(-2), precision);
}

int64_t AttentionImpl::pack(WeightFormat format) {
  int64_t elements = 0;
  for (const auto& weight : {query_, key_, value_, output_}) elements += weight->pack(format);
  return elements;
}

at::Tensor AttentionImpl::relative_rows(const DistanceRange& range, Precision precision) const {
  const at::Tensor features = distances_->features(range, shape_.width, relative_->weight);
  return split_heads(linear(features, relative_->weight, precision));
}

AttentionOperands AttentionImpl::position_operands(const DistanceRange& range,
                                                   Precision precision) const {
  AttentionOperands operands;
  if (!relative_) return operands;
  operands.relative_XHA = relative_rows(range, precision);
  operands.content_bias_HA = content_bias;
  operands.position_bias_HA = position_bias;
  return operands;
}

}  // namespace retro
