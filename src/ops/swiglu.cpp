#include "retro/ops/swiglu.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/silu.h>
#include <torch/csrc/autograd/custom_function.h>

#include "retro/core/error.h"

#include "cpu/kernels.h"
#include "shape_check.h"

namespace retro {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::Variable;
using torch::autograd::variable_list;

constexpr int64_t kGrain = 16384;

template <typename T>
void forward_cpu(const at::Tensor& gate, const at::Tensor& up, const at::Tensor& output) {
  const T* g = gate.const_data_ptr<T>();
  const T* u = up.const_data_ptr<T>();
  T* y = output.mutable_data_ptr<T>();
  at::parallel_for(0, gate.numel(), kGrain, [&](int64_t begin, int64_t end) {
    cpu::elementwise_kernels<T>().swiglu_forward(g + begin, u + begin, y + begin, end - begin);
  });
}

void forward_any(const at::Tensor& gate, const at::Tensor& up, const at::Tensor& output) {
  if (gate.scalar_type() == at::kDouble) {
    forward_cpu<double>(gate, up, output);
  } else {
    forward_cpu<float>(gate, up, output);
  }
}

template <typename T>
void backward_cpu(const variable_list& saved, const at::Tensor& grad_output,
                  const variable_list& grads) {
  const cpu::SwigluGradients<T> params{
      saved[0].const_data_ptr<T>(), saved[1].const_data_ptr<T>(), grad_output.const_data_ptr<T>(),
      grads[0].mutable_data_ptr<T>(), grads[1].mutable_data_ptr<T>()};
  at::parallel_for(0, grad_output.numel(), kGrain, [&](int64_t begin, int64_t end) {
    cpu::elementwise_kernels<T>().swiglu_backward(params, begin, end);
  });
}

class SwigluFunction : public Function<SwigluFunction> {
 public:
  static Variable forward(AutogradContext* context, const Variable& gate, const Variable& up) {
    const at::Tensor output = at::empty_like(gate);
    forward_any(gate, up, output);
    context->save_for_backward({gate, up});
    return output;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor grad_output = grads[0].contiguous();
    variable_list result{at::empty_like(saved[0]), at::empty_like(saved[1])};
    if (grad_output.scalar_type() == at::kDouble) {
      backward_cpu<double>(saved, grad_output, result);
    } else {
      backward_cpu<float>(saved, grad_output, result);
    }
    return result;
  }
};

}  // namespace

at::Tensor swiglu(const at::Tensor& gate_any, const at::Tensor& up_any) {
  if (!gate_any.is_cpu()) return at::silu(gate_any) * up_any;
  check_real(gate_any, "swiglu gate");
  check_like(up_any, "swiglu up", gate_any);
  RETRO_CHECK(gate_any.sizes() == up_any.sizes(), "swiglu up: expected the gate's shape {}, got {}",
              shape_of(gate_any), shape_of(up_any));
  const at::Tensor gate = gate_any.contiguous(), up = up_any.contiguous();
  if (at::GradMode::is_enabled()) return SwigluFunction::apply(gate, up);
  const at::Tensor output = at::empty_like(gate);
  forward_any(gate, up, output);
  return output;
}

}  // namespace retro
