#include "retro/ops/feed_forward.h"

#include <optional>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include "retro/core/error.h"
#include "retro/ops/gelu.h"
#include "retro/ops/linear.h"

#include "feed_forward_cpu.h"
#include "shape_check.h"
#include "tensor_data.h"

namespace retro {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::Variable;
using torch::autograd::variable_list;

template <typename T>
FeedForwardShape<T> shape_cpu(const at::Tensor& input_TD, const at::Tensor& up_FD,
                              const at::Tensor& down_DF, Precision precision) {
  return {.tokens = input_TD.size(0),
          .width = up_FD.size(1),
          .inner = up_FD.size(0),
          .input = input_TD.const_data_ptr<T>(),
          .up = up_FD.const_data_ptr<T>(),
          .down = down_DF.const_data_ptr<T>(),
          .precision = precision};
}

class FeedForwardFunction : public Function<FeedForwardFunction> {
 public:
  static Variable forward(AutogradContext* context, const std::optional<at::Tensor>& residual_TD,
                          const Variable& input_TD, const Variable& up_FD, const Variable& down_DF,
                          Precision precision, bool needs_gradient) {
    const at::Tensor residual = residual_TD.value_or(at::Tensor());
    const at::Tensor output_TD = at::empty_like(input_TD);
    at::Tensor inner_TF;
    if (needs_gradient) inner_TF = at::empty({input_TD.size(0), up_FD.size(0)}, input_TD.options());
    if (input_TD.scalar_type() == at::kDouble) {
      run_forward<double>(residual, input_TD, up_FD, down_DF, precision, output_TD, inner_TF);
    } else {
      run_forward<float>(residual, input_TD, up_FD, down_DF, precision, output_TD, inner_TF);
    }
    context->save_for_backward({input_TD, up_FD, down_DF, inner_TF});
    context->saved_data["precision"] = static_cast<int64_t>(precision);
    context->saved_data["has_residual"] = residual.defined();
    return output_TD;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor grad_TD = grads[0].contiguous();
    const bool has_residual = context->saved_data["has_residual"].toBool();
    const at::Tensor grad_residual = has_residual ? grad_TD : at::Tensor();
    // Nothing but the residual needs a gradient: nothing was kept for the others.
    if (!saved[3].defined()) return {grad_residual, {}, {}, {}, {}, {}};
    const size_t first = has_residual ? 1 : 0;  // of the differentiable inputs after the residual
    const auto zeros_if_needed = [&](size_t i) {
      return context->needs_input_grad(first + i) ? at::zeros_like(saved[i]) : at::Tensor();
    };
    at::Tensor grad_input;
    if (context->needs_input_grad(first)) grad_input = at::empty_like(saved[0]);
    const at::Tensor grad_up = zeros_if_needed(1);
    const at::Tensor grad_down = zeros_if_needed(2);
    const auto precision = static_cast<Precision>(context->saved_data["precision"].toInt());
    if (grad_TD.scalar_type() == at::kDouble) {
      run_backward<double>(saved, precision, grad_TD, grad_input, grad_up, grad_down);
    } else {
      run_backward<float>(saved, precision, grad_TD, grad_input, grad_up, grad_down);
    }
    return {grad_residual, grad_input, grad_up, grad_down, {}, {}};
  }

 private:
  template <typename T>
  static void run_forward(const at::Tensor& residual, const at::Tensor& input_TD,
                          const at::Tensor& up_FD, const at::Tensor& down_DF, Precision precision,
                          const at::Tensor& output_TD, const at::Tensor& inner_TF) {
    feed_forward_forward_cpu<T>(
        shape_cpu<T>(input_TD, up_FD, down_DF, precision),
        {.residual = residual.defined() ? residual.const_data_ptr<T>() : nullptr,
         .output = output_TD.mutable_data_ptr<T>(),
         .inner = data_or_null<T>(inner_TF)});
  }

  template <typename T>
  static void run_backward(const variable_list& saved, Precision precision,
                           const at::Tensor& grad_TD, const at::Tensor& grad_input,
                           const at::Tensor& grad_up, const at::Tensor& grad_down) {
    feed_forward_backward_cpu<T>(shape_cpu<T>(saved[0], saved[1], saved[2], precision),
                                 {.inner = saved[3].const_data_ptr<T>(),
                                  .grad_output = grad_TD.const_data_ptr<T>(),
                                  .grad_input = data_or_null<T>(grad_input),
                                  .grad_up = data_or_null<T>(grad_up),
                                  .grad_down = data_or_null<T>(grad_down)});
  }
};

void check_feed_forward_operands(const at::Tensor& input, const at::Tensor& up_FD,
                                 const at::Tensor& down_DF) {
  check_shape(up_FD, "up_FD", {kAnyExtent, kAnyExtent});
  check_shape(down_DF, "down_DF", {up_FD.size(1), up_FD.size(0)});
  RETRO_CHECK(input.defined() && input.dim() >= 1 && input.size(-1) == up_FD.size(1),
              "feed_forward input: expected [..., {}], got {}", up_FD.size(1), shape_of(input));
  check_real(input, "feed_forward input");
  check_parameter(up_FD, "up_FD", input);
  check_parameter(down_DF, "down_DF", input);
  check_device("feed_forward", input);
}

}  // namespace

at::Tensor feed_forward(const at::Tensor& residual, const at::Tensor& input,
                        const at::Tensor& up_FD, const at::Tensor& down_DF, Precision precision) {
  check_feed_forward_operands(input, up_FD, down_DF);
  if (!input.is_cpu()) {
    const at::Tensor inner = gelu_tanh(linear(input, up_FD, precision));
    return residual.defined() ? linear_add(residual, inner, down_DF, precision)
                              : linear(inner, down_DF, precision);
  }
  std::optional<at::Tensor> residual_TD;
  if (residual.defined()) {
    RETRO_CHECK(residual.sizes() == input.sizes(),
                "feed_forward residual: expected the input's shape {}, got {}", shape_of(input),
                shape_of(residual));
    check_like(residual, "feed_forward residual", input);
    residual_TD = residual.contiguous().view({-1, up_FD.size(1)});
  }
  const bool needs_gradient =
      at::GradMode::is_enabled() &&
      (input.requires_grad() || up_FD.requires_grad() || down_DF.requires_grad());
  return FeedForwardFunction::apply(residual_TD, input.contiguous().view({-1, up_FD.size(1)}),
                                    up_FD.contiguous(), down_DF.contiguous(), precision,
                                    needs_gradient)
      .view(input.sizes());
}

}  // namespace retro
