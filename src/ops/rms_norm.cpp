#include "retro/ops/rms_norm.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include "retro/core/error.h"

#include "cuda/rms_norm.h"
#include "rms_norm_cpu.h"
#include "shape_check.h"

namespace retro {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::Variable;
using torch::autograd::variable_list;

template <typename T>
void forward_cpu(const at::Tensor& input, const at::Tensor& gain, double epsilon,
                 const at::Tensor& output, const at::Tensor& inverse_rms) {
  rms_norm_forward_cpu<T>({.rows = inverse_rms.numel(),
                           .width = gain.numel(),
                           .epsilon = epsilon,
                           .input = input.const_data_ptr<T>(),
                           .gain = gain.const_data_ptr<T>(),
                           .output = output.mutable_data_ptr<T>(),
                           .inverse_rms = inverse_rms.mutable_data_ptr<T>()});
}

template <typename T>
void backward_cpu(const variable_list& saved, const at::Tensor& grad_output,
                  const at::Tensor& grad_input, const at::Tensor& grad_gain) {
  rms_norm_backward_cpu<T>({.rows = saved[2].numel(),
                            .width = saved[1].numel(),
                            .input = saved[0].const_data_ptr<T>(),
                            .gain = saved[1].const_data_ptr<T>(),
                            .inverse_rms = saved[2].const_data_ptr<T>(),
                            .grad_output = grad_output.const_data_ptr<T>(),
                            .grad_input = grad_input.mutable_data_ptr<T>(),
                            .grad_gain = grad_gain.mutable_data_ptr<T>()});
}

class RmsNormFunction : public Function<RmsNormFunction> {
 public:
  static Variable forward(AutogradContext* context, const Variable& input, const Variable& gain,
                          double epsilon) {
    const at::Tensor output = at::empty_like(input);
    const at::Tensor inverse_rms = at::empty({input.numel() / gain.numel()}, gain.options());
    if (!input.is_cpu()) {
      cuda::rms_norm_forward(input, gain, epsilon, output, inverse_rms);
    } else if (input.scalar_type() == at::kDouble) {
      forward_cpu<double>(input, gain, epsilon, output, inverse_rms);
    } else {
      forward_cpu<float>(input, gain, epsilon, output, inverse_rms);
    }
    context->save_for_backward({input, gain, inverse_rms});
    return output;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor grad_output = grads[0].contiguous();
    const at::Tensor grad_input = at::empty_like(saved[0]);
    const at::Tensor grad_gain = at::empty_like(saved[1]);
    if (!grad_output.is_cpu()) {
      cuda::rms_norm_backward(saved, grad_output, grad_input, grad_gain);
    } else if (grad_output.scalar_type() == at::kDouble) {
      backward_cpu<double>(saved, grad_output, grad_input, grad_gain);
    } else {
      backward_cpu<float>(saved, grad_output, grad_input, grad_gain);
    }
    return {grad_input, grad_gain, at::Tensor()};
  }
};

}  // namespace

at::Tensor rms_norm(const at::Tensor& input, const at::Tensor& gain, double epsilon) {
  check_shape(gain, "gain_D", {kAnyExtent});
  RETRO_CHECK(
      input.defined() && input.dim() >= 1 && input.size(-1) == gain.numel() && gain.numel() > 0,
      "rms_norm input: expected [..., {}], got {}", gain.numel(), shape_of(input));
  check_real(input, "rms_norm input");
  check_parameter(gain, "gain_D", input);
  check_device("rms_norm", input);
  return RmsNormFunction::apply(input.contiguous(), gain.contiguous(), epsilon);
}

}  // namespace retro
