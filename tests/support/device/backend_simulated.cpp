// Behind operations on the simulated device: the kernel simulator and a plain loop for cuBLAS.
#include "ops/cuda/backend.h"
#include "simulator/reference_gemm.h"

namespace retro::cuda {

bool is_built() { return true; }

kernels::StreamHandle current_stream(c10::Device) { return nullptr; }

template <typename T>
kernels::Gemm<T>& gemm() {
  static simulator::ReferenceGemm<T> instance;
  return instance;
}

template kernels::Gemm<float>& gemm();
template kernels::Gemm<bfloat16>& gemm();

}  // namespace retro::cuda
