#include "retro/ops/gelu.h"

#include <ATen/ops/gelu.h>

#include "shape_check.h"

namespace retro {

at::Tensor gelu_tanh(const at::Tensor& input) {
  check_real(input, "gelu_tanh input");
  if (!input.is_cpu()) throw_unsupported_device("gelu_tanh", input);
  return at::gelu(input.contiguous(), "tanh");  // one code path for every layout
}

}  // namespace retro
