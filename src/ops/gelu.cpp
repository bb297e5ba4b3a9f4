#include "retro/ops/gelu.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu.h>
#include <torch/csrc/autograd/custom_function.h>

#include "cpu/kernels.h"
#include "shape_check.h"

namespace retro {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::Variable;
using torch::autograd::variable_list;

constexpr int64_t kGeluGrain = 16384;

template <typename T>
void forward_cpu(const at::Tensor& input, const at::Tensor& output) {
  const T* from = input.const_data_ptr<T>();
  T* to = output.mutable_data_ptr<T>();
  at::parallel_for(0, input.numel(), kGeluGrain, [&](int64_t begin, int64_t end) {
    cpu::elementwise_kernels<T>().gelu_forward(from + begin, to + begin, end - begin);
  });
}

template <typename T>
void backward_cpu(const at::Tensor& input, const at::Tensor& grad_output,
                  const at::Tensor& grad_input) {
  const T* x = input.const_data_ptr<T>();
  const T* dy = grad_output.const_data_ptr<T>();
  T* dx = grad_input.mutable_data_ptr<T>();
  at::parallel_for(0, input.numel(), kGeluGrain, [&](int64_t begin, int64_t end) {
    cpu::elementwise_kernels<T>().gelu_backward(x + begin, dy + begin, dx + begin, end - begin);
  });
}

class GeluFunction : public Function<GeluFunction> {
 public:
  static Variable forward(AutogradContext* context, const Variable& input) {
    const at::Tensor output = at::empty_like(input);
    if (input.scalar_type() == at::kDouble) {
      forward_cpu<double>(input, output);
    } else {
      forward_cpu<float>(input, output);
    }
    context->save_for_backward({input});
    return output;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const at::Tensor input = context->get_saved_variables()[0];
    const at::Tensor grad_output = grads[0].contiguous();
    const at::Tensor grad_input = at::empty_like(input);
    if (input.scalar_type() == at::kDouble) {
      backward_cpu<double>(input, grad_output, grad_input);
    } else {
      backward_cpu<float>(input, grad_output, grad_input);
    }
    return {grad_input};
  }
};

}  // namespace

at::Tensor gelu_tanh(const at::Tensor& input) {
  check_real(input, "gelu_tanh input");
  check_device("gelu_tanh", input);
  if (!input.is_cpu()) return at::gelu(input, "tanh");
  return GeluFunction::apply(input.contiguous());
}

}  // namespace retro
