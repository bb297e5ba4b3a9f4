#include "retro/ops/linear.h"

#include <torch/csrc/autograd/custom_function.h>

#include "retro/core/error.h"

#include "matrix_product.h"
#include "shape_check.h"

namespace retro {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::Variable;
using torch::autograd::variable_list;

class LinearFunction : public Function<LinearFunction> {
 public:
  static Variable forward(AutogradContext* context, const Variable& input, const Variable& weight,
                          Precision precision) {
    context->save_for_backward({input, weight});
    context->saved_data["precision"] = static_cast<int64_t>(precision);
    return matrix_product(input, weight.t(), precision);
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const variable_list saved = context->get_saved_variables();
    const auto precision = static_cast<Precision>(context->saved_data["precision"].toInt());
    variable_list result(3);
    if (context->needs_input_grad(0)) result[0] = matrix_product(grads[0], saved[1], precision);
    if (context->needs_input_grad(1)) {
      result[1] = matrix_product(grads[0].t(), saved[0], precision);
    }
    return result;
  }
};

}  // namespace

at::Tensor linear(const at::Tensor& input, const at::Tensor& weight, Precision precision) {
  check_shape(weight, "weight", {kAnyExtent, kAnyExtent});
  RETRO_CHECK(input.defined() && input.dim() >= 1 && input.size(-1) == weight.size(1),
              "linear input: expected [..., {}], got {}", weight.size(1), shape_of(input));
  check_real(input, "linear input");
  check_like(weight, "weight", input);
  if (!input.is_cpu()) throw_unsupported_device("linear", input);
  std::vector<int64_t> shape = input.sizes().vec();
  const at::Tensor flat = input.reshape({-1, shape.back()});
  shape.back() = weight.size(0);
  return LinearFunction::apply(flat, weight, precision).view(shape);
}

}  // namespace retro
