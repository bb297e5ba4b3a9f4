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
  // Rounded before it is added, whichever way: a part that is computed again gives the same bits.
  const at::Tensor addend = bias.to(product.scalar_type());
  // In place where nobody will ask for the product's gradient.
  return at::GradMode::is_enabled() ? product + addend : product.add_(addend);
}

int64_t WeightImpl::pack(WeightFormat format) {
  const int64_t elements = weight.numel();
  if (is_packed() || weight.size(-1) % kBlockElements != 0) return 0;
  weight.set_requires_grad(false);
  blocks_ = to_blocks(weight, format);
  weight.set_data(torch::empty({0}));
  return elements;
}

at::Tensor WeightImpl::values() const { return blocks_ ? from_blocks(*blocks_) : weight; }

at::Tensor WeightImpl::apply(const at::Tensor& input, Precision precision) const {
  if (blocks_) return with_bias(block_linear(input, *blocks_, precision));
  return with_bias(linear(input, weight, precision));
}

at::Tensor WeightImpl::apply_and_add(const at::Tensor& residual, const at::Tensor& input,
                                     Precision precision) const {
  if (blocks_) return residual + apply(input, precision);
  return with_bias(linear_add(residual, input, weight, precision));
}

std::vector<at::Tensor> apply_each(const std::vector<std::shared_ptr<WeightImpl>>& weights,
                                   const at::Tensor& input, Precision precision) {
  std::vector<at::Tensor> products;
  bool is_any_packed = false;
  for (const auto& weight : weights) {
    is_any_packed = is_any_packed || weight->is_packed();
    products.push_back(weight->weight);
  }
  if (!is_any_packed) {
    products = linear_group(input, products, precision);
    for (size_t i = 0; i < weights.size(); ++i)
      products[i] = weights[i]->with_bias(std::move(products[i]));
    return products;
  }
  for (size_t i = 0; i < weights.size(); ++i) products[i] = weights[i]->apply(input, precision);
  return products;
}

}  // namespace retro
