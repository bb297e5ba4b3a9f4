#include "retro/ops/precision.h"

#include <cpuid.h>

#include "retro/core/error.h"

namespace retro {

namespace {

/// AVX512_BF16 (leaf 7.1, EAX bit 5) or AMX_BF16 (leaf 7.0, EDX bit 22), with AVX-512 usable.
bool has_bfloat16_products() {
  if (__builtin_cpu_supports("avx512f") == 0) return false;
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  const unsigned sub_leaves = eax;
  if ((edx & (1U << 22)) != 0) return true;
  if (sub_leaves < 1 || __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) == 0) return false;
  return (eax & (1U << 5)) != 0;
}

}  // namespace

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

std::string precision_name(Precision precision) {
  return precision == Precision::kBfloat16 ? "bfloat16" : "float32";
}

}  // namespace retro
