#include "frozen_linear.h"

#include <optional>
#include <string>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>

namespace retro {
namespace {

/// Rows for which the weight's order is chosen; it is right for any number of rows.
constexpr int64_t kPackedRows = 512;

/// LibTorch registers oneDNN's fused linear layer under these names, without a C++ header.
std::optional<c10::OperatorHandle> find_operator(const char* name) {
  return c10::Dispatcher::singleton().findSchema({name, ""});
}

at::Tensor call(const c10::OperatorHandle& handle, torch::jit::Stack stack) {
  handle.callBoxed(&stack);
  return stack.at(0).toTensor();
}

}  // namespace

FrozenLinear::FrozenLinear(const at::Tensor& weight_OI, const at::Tensor& bias_O,
                           Precision precision) {
  const at::ScalarType type = precision == Precision::kBfloat16 ? at::kBFloat16 : at::kFloat;
  const at::ScalarType product_type = has_bfloat16_products() ? type : at::kFloat;
  weight_ = weight_OI.detach().to(type).to(product_type).contiguous();
  bias_O_ = bias_O.detach().to(type).to(product_type).contiguous();
  const auto pack = find_operator("mkldnn::_reorder_linear_weight");
  if (pack && find_operator("mkldnn::_linear_pointwise")) {
    weight_ = call(*pack, {weight_, kPackedRows});
    is_packed_ = true;
  }
}

at::Tensor FrozenLinear::forward(const at::Tensor& input_TI, Activation activation) const {
  const at::ScalarType product_type = bias_O_.scalar_type();
  return multiply(input_TI.to(product_type), activation).to(input_TI.scalar_type());
}

at::Tensor FrozenLinear::multiply(const at::Tensor& input_TI, Activation activation) const {
  const bool has_gelu = activation == Activation::kGelu;
  if (!is_packed_) {
    const at::Tensor output_TO = at::linear(input_TI, weight_, bias_O_);
    return has_gelu ? at::gelu(output_TO) : output_TO;
  }
  static const c10::OperatorHandle fused = *find_operator("mkldnn::_linear_pointwise");
  const std::string attribute = has_gelu ? "gelu" : "none";
  const std::string algorithm = has_gelu ? "none" : "";  // "none" is oneDNN's exact (erf) GELU
  return call(fused, {input_TI, weight_, bias_O_, attribute, c10::List<std::optional<at::Scalar>>(),
                      algorithm});
}

}  // namespace retro
