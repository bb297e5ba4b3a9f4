#include "matrix_product.h"

#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include "launch_support.h"

namespace retro::cuda {

at::ScalarType product_type(Precision precision) {
  return precision == Precision::kBfloat16 ? at::kBFloat16 : at::kFloat;
}

at::Tensor matrix_product(const at::Tensor& left, const at::Tensor& right, Precision precision) {
  const at::ScalarType type = product_type(precision);
  return at::mm(left.to(type), right.to(type));
}

at::Tensor add_matrix_product(const at::Tensor& addend, const at::Tensor& left,
                              const at::Tensor& right, Precision precision) {
  const at::ScalarType type = product_type(precision);
  if (addend.scalar_type() != type) return addend + matrix_product(left, right, precision);
  return at::addmm(addend, left.to(type), right.to(type));
}

at::Tensor weight_gradient(const at::Tensor& grad_TO, const at::Tensor& input_TI,
                           Precision precision) {
  const at::ScalarType type = product_type(precision);
  const at::Tensor grad = grad_TO.to(type).contiguous();
  const at::Tensor input = input_TI.to(type).contiguous();
  const at::Tensor out =
      at::empty({grad.size(1), input.size(1)}, input.options().dtype(at::kFloat));
  const LaunchScope scope(input);
  for_type_of(input, [&](auto tag) {
    using T = typename decltype(tag)::type;
    kernels::GemmProblem<T> product;
    product.a = read_pointer<T>(grad);
    product.a_stride = product.rows = grad.size(1);
    product.a_is_transposed = true;
    product.b = read_pointer<T>(input);
    product.b_stride = product.columns = product.c_stride = input.size(1);
    product.c = write_pointer<float>(out);
    product.depth = grad.size(0);
    gemm<T>().multiply(product, scope.stream());
  });
  return out;
}

}  // namespace retro::cuda
