// A module that is one tensor, so that parameters carry METHOD section 3's dotted names.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <vector>

#include <torch/nn/module.h>

#include "retro/ops/block_matrix.h"
#include "retro/ops/precision.h"

namespace retro {

/// Parameter "weight" of the given shape, zero until it is drawn or read; with `has_bias` also
/// "bias", [first extent], zero.
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

  /// Keeps the weight as blocks: it is frozen, `weight` has no elements from now on, and apply
  /// multiplies with what the blocks hold. Returns its number of elements; 0 where rows are not
  /// whole blocks, and nothing changes.
  int64_t pack(WeightFormat format);
  bool is_packed() const { return blocks_.has_value(); }
  /// What apply multiplies with, float32: the weight, or what its blocks hold.
  at::Tensor values() const;

  at::Tensor weight;
  at::Tensor bias;  ///< undefined without one

 private:
  std::optional<BlockMatrix> blocks_;
};

/// apply of every weight to one input: the input's gradient is formed as one sum.
std::vector<at::Tensor> apply_each(const std::vector<std::shared_ptr<WeightImpl>>& weights,
                                   const at::Tensor& input, Precision precision);

}  // namespace retro
