#include "matrix_product.h"

#include <ATen/ops/empty.h>

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
  const at::Tensor out = at::empty({left.size(0), right.size(1)}, left.options());
  multiply_matrices(out, left, right, precision);
  return out;
}

}  // namespace retro
