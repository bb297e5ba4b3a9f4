#include "linear_cross_entropy.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include "kernels/linear_cross_entropy.h"
#include "launch_support.h"
#include "matrix_product.h"

namespace retro::cuda {

LossesAndGradients linear_cross_entropy(const LossOperands& operands) {
  const at::ScalarType type = product_type(operands.precision);
  const at::Tensor hidden = operands.hidden_TD.to(type).contiguous();
  const at::Tensor weight = operands.weight_VD.to(type).contiguous();
  const at::Tensor targets = operands.target_T.contiguous();
  const at::Tensor token_weight =
      operands.token_weight_T.defined() ? operands.token_weight_T.contiguous() : at::Tensor();
  const auto options = hidden.options().dtype(at::kFloat);
  LossesAndGradients result{at::empty({hidden.size(0)}, options), {}, {}};
  if (token_weight.defined()) {
    result.grad_TD = at::empty_like(hidden);
    if (operands.needs_weight_gradient) result.grad_VD = at::zeros(weight.sizes(), options);
  }
  const LaunchScope scope(hidden);
  for_type_of(hidden, [&](auto tag) {
    using T = typename decltype(tag)::type;
    kernels::LinearCrossEntropyParams<T> params;
    params.hidden = read_pointer<T>(hidden);
    params.weight = read_pointer<T>(weight);
    params.targets = read_pointer<int64_t>(targets);
    params.token_weight = read_pointer<float>(token_weight);
    params.losses = write_pointer<float>(result.losses_T);
    params.grad_hidden = write_pointer<T>(result.grad_TD);
    params.grad_weight = write_pointer<float>(result.grad_VD);
    params.tokens = hidden.size(0);
    params.width = hidden.size(1);
    params.vocabulary = weight.size(0);
    const kernels::CrossEntropyTiles tiles;
    const at::Tensor workspace =
        at::empty({kernels::linear_cross_entropy_workspace_floats(params, tiles)}, options);
    params.workspace = write_pointer<float>(workspace);
    kernels::launch_linear_cross_entropy(params, tiles, gemm<T>(), scope.stream());
  });
  return result;
}

}  // namespace retro::cuda
