#include "retro/ops/rotary.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>

#include "retro/core/error.h"

#include "cuda/rotary.h"
#include "shape_check.h"

namespace retro {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::Variable;
using torch::autograd::variable_list;

/// Rows of [rows, H, A]; row i has the angles of position i mod N.
struct RotaryShape {
  int64_t rows = 0;
  int64_t positions = 0;
  int64_t heads = 0;
  int64_t half = 0;
};

/// One head; `direction` -1 turns back (the gradient).
template <typename T>
void rotate_head(const T* __restrict x, const T* __restrict cos, const T* __restrict sin,
                 T direction, int64_t half, T* __restrict out) {
  for (int64_t j = 0; j < half; ++j) {
    const T s = direction * sin[j];
    out[j] = x[j] * cos[j] - x[j + half] * s;
    out[j + half] = x[j + half] * cos[j] + x[j] * s;
  }
}

template <typename T>
void rotate_rows(const RotaryShape& shape, const variable_list& tensors, T direction,
                 const at::Tensor& out) {
  const T* x = tensors[0].const_data_ptr<T>();
  const T* cos = tensors[1].const_data_ptr<T>();
  const T* sin = tensors[2].const_data_ptr<T>();
  T* y = out.mutable_data_ptr<T>();
  const int64_t width = 2 * shape.half;
  const int64_t grain = std::max<int64_t>(1, (1 << 15) / (shape.heads * width));
  at::parallel_for(0, shape.rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t angle = row % shape.positions * shape.half;
      for (int64_t h = 0; h < shape.heads; ++h) {
        const int64_t at = (row * shape.heads + h) * width;
        rotate_head<T>(x + at, cos + angle, sin + angle, direction, shape.half, y + at);
      }
    }
  });
}

at::Tensor rotated(const at::Tensor& x, const at::Tensor& cos_NF, const at::Tensor& sin_NF,
                   int direction) {
  if (!x.is_cpu()) return cuda::rotated(x, cos_NF, sin_NF, direction);
  const at::Tensor out = at::empty(x.sizes(), x.options());
  const RotaryShape shape{x.numel() / (x.size(-1) * x.size(-2)), cos_NF.size(0), x.size(-2),
                          cos_NF.size(1)};
  if (x.scalar_type() == at::kDouble) {
    rotate_rows<double>(shape, {x, cos_NF, sin_NF}, direction, out);
  } else {
    rotate_rows<float>(shape, {x, cos_NF, sin_NF}, static_cast<float>(direction), out);
  }
  return out;
}

class RotaryFunction : public Function<RotaryFunction> {
 public:
  static Variable forward(AutogradContext* context, const Variable& x, const at::Tensor& cos_NF,
                          const at::Tensor& sin_NF) {
    context->save_for_backward({cos_NF, sin_NF});
    return rotated(x, cos_NF, sin_NF, 1);
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const variable_list saved = context->get_saved_variables();
    return {rotated(grads[0].contiguous(), saved[0], saved[1], -1), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor rotate_pairs(const at::Tensor& x_NHA, const at::Tensor& cos_NF,
                        const at::Tensor& sin_NF) {
  RETRO_CHECK(x_NHA.defined() && x_NHA.dim() >= 3 && x_NHA.size(-1) % 2 == 0,
              "rotate_pairs x: expected [..., N, H, A] with an even A, got {}", shape_of(x_NHA));
  check_real(x_NHA, "rotate_pairs x");
  check_shape(cos_NF, "cos_NF", {x_NHA.size(-3), x_NHA.size(-1) / 2});
  check_shape(sin_NF, "sin_NF", {x_NHA.size(-3), x_NHA.size(-1) / 2});
  check_parameter(cos_NF, "cos_NF", x_NHA);
  check_parameter(sin_NF, "sin_NF", x_NHA);
  check_device("rotate_pairs", x_NHA);
  if (x_NHA.numel() == 0) return x_NHA;
  return RotaryFunction::apply(x_NHA.contiguous(), cos_NF.contiguous(), sin_NF.contiguous());
}

}  // namespace retro
