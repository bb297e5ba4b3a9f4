// A module that is one tensor, so that parameters carry METHOD section 3's dotted names.
#pragma once

#include <cstdint>
#include <initializer_list>

#include <torch/nn/module.h>

#include "retro/ops/precision.h"

namespace retro {

/// Parameter "weight" of the given shape, uninitialised until the model draws it; with `has_bias`
/// also "bias", [first extent], zero.
class WeightImpl : public torch::nn::Module {
 public:
  explicit WeightImpl(std::initializer_list<int64_t> shape, bool has_bias = false);
  /// weight [out, in]: input [..., in] -> [..., out], plus the bias.
  at::Tensor apply(const at::Tensor& input, Precision precision) const;
  /// residual + apply(input), the sum formed inside the product.
  at::Tensor apply_and_add(const at::Tensor& residual, const at::Tensor& input,
                           Precision precision) const;
  /// The product with the bias added.
  at::Tensor with_bias(at::Tensor product) const;

  at::Tensor weight;
  at::Tensor bias;  ///< undefined without one
};

}  // namespace retro
