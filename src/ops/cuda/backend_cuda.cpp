// Behind operations on a GPU in a build with CUDA: LibTorch's streams and cuBLAS.
#include <c10/cuda/CUDAStream.h>

#include "backend.h"
#include "kernels/cublas_gemm.h"

namespace retro::cuda {

bool is_built() { return true; }

kernels::StreamHandle current_stream(c10::Device device) {
  return c10::cuda::getCurrentCUDAStream(device.index()).stream();
}

/// A handle belongs to one device and must not be shared by threads. It is never given back: CUDA
/// may be gone before the thread's variables are.
template <typename T>
kernels::Gemm<T>& gemm() {
  thread_local auto* const instance = new kernels::CublasGemm<T>();
  return *instance;
}

template kernels::Gemm<float>& gemm();
template kernels::Gemm<bfloat16>& gemm();

}  // namespace retro::cuda
