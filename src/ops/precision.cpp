#include "retro/ops/precision.h"

#include "retro/core/error.h"

#include "cpu/cpu_features.h"
#include "cuda/matrix_product.h"

namespace retro {

bool has_bfloat16_products() { return cpu::has_avx512_bfloat16() || cpu::has_amx_bfloat16(); }

Precision resolve_precision(const std::string& name) {
  if (name == "float32") return Precision::kFloat32;
  if (name == "auto") {
    return has_bfloat16_products() ? Precision::kBfloat16 : Precision::kFloat32;
  }
  RETRO_CHECK(name == "bfloat16", "precision: expected float32, bfloat16 or auto, got '{}'", name);
  RETRO_CHECK(has_bfloat16_products(),
              "precision: bfloat16 needs a CPU with AVX512_BF16 or AMX, this one has neither; use "
              "float32 or auto");
  return Precision::kBfloat16;
}

Precision resolve_precision(const std::string& name, at::Device device) {
  if (device.is_cpu() || name == "float32") return resolve_precision(name);
  RETRO_CHECK(name == "auto" || name == "bfloat16",
              "precision: expected float32, bfloat16 or auto, got '{}'", name);
  return Precision::kBfloat16;
}

at::Tensor as_activations(const at::Tensor& tensor, Precision precision) {
  return tensor.is_cpu() ? tensor : tensor.to(cuda::product_type(precision));
}

std::string precision_name(Precision precision) {
  return precision == Precision::kBfloat16 ? "bfloat16" : "float32";
}

}  // namespace retro
