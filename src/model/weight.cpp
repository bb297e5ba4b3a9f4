#include "retro/model/weight.h"

#include <utility>

#include "retro/ops/linear.h"

namespace retro {

WeightImpl::WeightImpl(std::initializer_list<int64_t> shape, bool has_bias)
    : weight(register_parameter("weight", torch::zeros(c10::IntArrayRef(shape)))) {
  if (has_bias) bias = register_parameter("bias", torch::zeros({*shape.begin()}));
}

at::Tensor WeightImpl::with_bias(at::Tensor product) const {
  if (!bias.defined()) return product;
  // In place where nobody will ask for the product's gradient.
  if (!at::GradMode::is_enabled()) return product.add_(bias);
  return product + bias;
}

at::Tensor WeightImpl::apply(const at::Tensor& input, Precision precision) const {
  return with_bias(linear(input, weight, precision));
}

at::Tensor WeightImpl::apply_and_add(const at::Tensor& residual, const at::Tensor& input,
                                     Precision precision) const {
  return with_bias(linear_add(residual, input, weight, precision));
}

}  // namespace retro
