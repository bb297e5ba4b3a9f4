#include "matrix_product.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "cuda/matrix_product.h"
#include "gemm_cpu.h"

namespace retro {

namespace {

at::Tensor with_unit_stride(const at::Tensor& matrix) {
  return matrix.stride(0) == 1 || matrix.stride(1) == 1 ? matrix : matrix.contiguous();
}

template <typename T>
void run(const at::Tensor& out, const at::Tensor& left, const at::Tensor& right,
         Precision precision, const at::Tensor& addend) {
  gemm_cpu(
      cpu::GemmProblem<T>{.rows = left.size(0),
                          .columns = right.size(1),
                          .depth = left.size(1),
                          .left = {left.const_data_ptr<T>(), left.stride(0), left.stride(1)},
                          .right = {right.const_data_ptr<T>(), right.stride(0), right.stride(1)},
                          .out = out.mutable_data_ptr<T>(),
                          .out_stride = out.stride(0),
                          .addend = addend.defined() ? addend.const_data_ptr<T>() : nullptr,
                          .addend_stride = addend.defined() ? addend.stride(0) : 0},
      precision);
}

}  // namespace

void multiply_matrices(const at::Tensor& out, const at::Tensor& left_any,
                       const at::Tensor& right_any, Precision precision, const at::Tensor& addend) {
  const at::Tensor left = with_unit_stride(left_any);
  const at::Tensor right = with_unit_stride(right_any);
  if (left.scalar_type() == at::kDouble) {
    run<double>(out, left, right, precision, addend);
  } else {
    run<float>(out, left, right, precision, addend);
  }
}

at::Tensor matrix_product(const at::Tensor& left, const at::Tensor& right, Precision precision) {
  if (!left.is_cpu()) return cuda::matrix_product(left, right, precision);
  const at::Tensor out = at::empty({left.size(0), right.size(1)}, left.options());
  multiply_matrices(out, left, right, precision);
  return out;
}

at::Tensor add_matrix_product(const at::Tensor& addend, const at::Tensor& left,
                              const at::Tensor& right, Precision precision) {
  if (!left.is_cpu()) return cuda::add_matrix_product(addend, left, right, precision);
  const at::Tensor out = at::empty_like(addend);
  multiply_matrices(out, left, right, precision, addend);
  return out;
}

void accumulate_product(at::Tensor& sum, const at::Tensor& left, const at::Tensor& right,
                        Precision precision) {
  if (!sum.defined()) {
    sum = matrix_product(left, right, precision);
  } else if (sum.is_cpu()) {
    multiply_matrices(sum, left, right, precision, sum);
  } else {
    sum = cuda::add_matrix_product(sum, left, right, precision);
  }
}

at::Tensor weight_gradient(const at::Tensor& grad_TO, const at::Tensor& input_TI,
                           Precision precision) {
  if (!grad_TO.is_cpu()) return cuda::weight_gradient(grad_TO, input_TI, precision);
  return matrix_product(grad_TO.t(), input_TI, precision);
}

}  // namespace retro
