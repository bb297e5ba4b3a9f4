#include "retro/ops/device.h"

#include <ATen/Context.h>

#include "retro/core/error.h"

#include "cuda/backend.h"

namespace retro {

namespace {

/// float32 products keep 24 bits, and the partial sums of bfloat16 products are added in float32.
/// Both are LibTorch's switches for the whole process.
void demand_exact_products() {
  at::globalContext().setAllowTF32CuBLAS(false);
  at::globalContext().setAllowBF16ReductionCuBLAS(false);
}

}  // namespace

at::Device resolve_device(const std::string& name) {
  if (name == "cpu") return at::kCPU;
  RETRO_CHECK(name == "cuda", "device: expected cpu or cuda, got '{}'", name);
  RETRO_CHECK(cuda::is_built(),
              "device is cuda, but this program was built without CUDA: build it with "
              "`cmake --preset cuda`, or take device cpu");
  RETRO_CHECK(at::globalContext().hasCUDA(),
              "device is cuda, but no GPU was found: look at `nvidia-smi`, or take device cpu");
  demand_exact_products();
  return {at::kCUDA, 0};
}

std::string built_devices() { return cuda::is_built() ? "cpu, cuda" : "cpu"; }

}  // namespace retro
