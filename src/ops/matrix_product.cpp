#include "matrix_product.h"

#include <ATen/ops/mm.h>

namespace retro {

namespace {

bool in_bfloat16(const at::Tensor& tensor, Precision precision) {
  return precision == Precision::kBfloat16 && tensor.scalar_type() == at::kFloat;
}

}  // namespace

at::Tensor matrix_product(const at::Tensor& left, const at::Tensor& right, Precision precision) {
  if (!in_bfloat16(left, precision)) return at::mm(left, right);
  return at::mm(left.to(at::kBFloat16), right.to(at::kBFloat16)).to(at::kFloat);
}

void add_matrix_product(const at::Tensor& out, const at::Tensor& left, const at::Tensor& right,
                        Precision precision) {
  if (in_bfloat16(left, precision)) {
    out.add_(matrix_product(left, right, precision));
  } else {
    out.addmm_(left, right);
  }
}

}  // namespace retro
