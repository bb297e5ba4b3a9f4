// A linear layer whose weights never change: packed once for the CPU's matrix product.
#pragma once

#include <ATen/core/Tensor.h>

#include "retro/ops/precision.h"

namespace retro {

enum class Activation { kNone, kGelu };

/// y = activation(x W^T + b). Weights are stored in the order in which oneDNN reads them (about a
/// tenth faster than plain float32 products, and bias and activation cost no pass of their own).
/// bfloat16 on a CPU without its products: the rounded operands are widened and multiplied in
/// float32, so results agree with those of other CPUs but for the order of the sums.
class FrozenLinear {
 public:
  FrozenLinear() = default;
  /// weight_OI [out, in] and bias_O [out] in float32; with bfloat16 both are rounded.
  FrozenLinear(const at::Tensor& weight_OI, const at::Tensor& bias_O, Precision precision);

  /// input_TI [T, in] contiguous in the precision's type -> [T, out] in that type. erf-GELU in
  /// float32.
  at::Tensor forward(const at::Tensor& input_TI, Activation activation = Activation::kNone) const;

 private:
  at::Tensor multiply(const at::Tensor& input_TI, Activation activation) const;

  at::Tensor weight_;
  at::Tensor bias_O_;
  bool is_packed_ = false;
};

}  // namespace retro
