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

Precision saved_precision(AutogradContext* context) {
  return static_cast<Precision>(context->saved_data["precision"].toInt());
}

/// Outputs input [T, in] x weights[i]^T; the input's gradient is one sum over the weights.
class LinearGroupFunction : public Function<LinearGroupFunction> {
 public:
  static variable_list forward(AutogradContext* context, const Variable& input,
                               at::TensorList weights, Precision precision) {
    variable_list saved{input};
    variable_list outputs;
    for (const at::Tensor& weight : weights) {
      saved.push_back(weight);
      outputs.push_back(matrix_product(input, weight.t(), precision));
    }
    context->save_for_backward(saved);
    context->set_materialize_grads(false);
    context->saved_data["precision"] = static_cast<int64_t>(precision);
    return outputs;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const variable_list saved = context->get_saved_variables();
    const Precision precision = saved_precision(context);
    variable_list result(saved.size() + 1);
    for (size_t i = 0; i < grads.size(); ++i) {
      if (!grads[i].defined()) continue;
      if (context->needs_input_grad(0)) {
        accumulate_product(result[0], grads[i], saved[i + 1], precision);
      }
      if (context->needs_input_grad(i + 1)) {
        result[i + 1] = weight_gradient(grads[i], saved[0], precision);
      }
    }
    return result;
  }
};

/// residual [T, out] + input [T, in] x weight^T.
class LinearAddFunction : public Function<LinearAddFunction> {
 public:
  static Variable forward(AutogradContext* context, const Variable& residual, const Variable& input,
                          const Variable& weight, Precision precision) {
    const at::Tensor output = add_matrix_product(residual, input, weight.t(), precision);
    context->save_for_backward({input, weight});
    context->saved_data["precision"] = static_cast<int64_t>(precision);
    return output;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const variable_list saved = context->get_saved_variables();
    const Precision precision = saved_precision(context);
    variable_list result(4);
    result[0] = grads[0];
    if (context->needs_input_grad(1)) {
      result[1] = matrix_product(grads[0], saved[1], precision);
    }
    if (context->needs_input_grad(2)) {
      result[2] = weight_gradient(grads[0], saved[0], precision);
    }
    return result;
  }
};

void check_linear_operands(const at::Tensor& input, const at::Tensor& weight) {
  check_shape(weight, "weight", {kAnyExtent, kAnyExtent});
  RETRO_CHECK(input.defined() && input.dim() >= 1 && input.size(-1) == weight.size(1),
              "linear input: expected [..., {}], got {}", weight.size(1), shape_of(input));
  check_real(input, "linear input");
  check_parameter(weight, "weight", input);
  check_device("linear", input);
}

at::Tensor flattened(const at::Tensor& tensor) { return tensor.reshape({-1, tensor.size(-1)}); }

std::vector<int64_t> output_shape(const at::Tensor& input, const at::Tensor& weight) {
  std::vector<int64_t> shape = input.sizes().vec();
  shape.back() = weight.size(0);
  return shape;
}

}  // namespace

at::Tensor linear(const at::Tensor& input, const at::Tensor& weight, Precision precision) {
  return linear_group(input, {weight}, precision)[0];
}

std::vector<at::Tensor> linear_group(const at::Tensor& input,
                                     const std::vector<at::Tensor>& weights, Precision precision) {
  for (const at::Tensor& weight : weights) check_linear_operands(input, weight);
  std::vector<at::Tensor> outputs =
      LinearGroupFunction::apply(flattened(input), at::TensorList(weights), precision);
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i] = outputs[i].view(output_shape(input, weights[i]));
  }
  return outputs;
}

at::Tensor linear_add(const at::Tensor& residual, const at::Tensor& input, const at::Tensor& weight,
                      Precision precision) {
  check_linear_operands(input, weight);
  const std::vector<int64_t> shape = output_shape(input, weight);
  RETRO_CHECK(residual.defined() && residual.sizes() == at::IntArrayRef(shape),
              "linear_add residual: expected the shape of the product, got {}", shape_of(residual));
  check_like(residual, "linear_add residual", input);
  return LinearAddFunction::apply(flattened(residual.contiguous()), flattened(input), weight,
                                  precision)
      .view(shape);
}

}  // namespace retro
