// Behind operations on a GPU in a build with CUDA: LibTorch's streams and cuBLAS.
#include <cassert>

#include <ATen/cuda/CUDAContextLight.h>
#include <c10/cuda/CUDAStream.h>

#include "backend.h"
#include "kernels/cublas_gemm.h"

namespace retro::cuda {

bool is_built() { return true; }

kernels::StreamHandle current_stream(c10::Device device) {
  return c10::cuda::getCurrentCUDAStream(device.index()).stream();
}

namespace {

/// By LibTorch's handle of the calling thread and the current device: it comes set to LibTorch's
/// current stream, with a workspace from where tensors have their memory.
template <typename T>
class TorchGemm final : public kernels::Gemm<T> {
 public:
  void multiply(const kernels::GemmProblem<T>& problem,
                [[maybe_unused]] kernels::StreamHandle stream) override {
    assert(stream == c10::cuda::getCurrentCUDAStream().stream());
    kernels::multiply_with_cublas(at::cuda::getCurrentCUDABlasHandle(), problem);
  }
};

}  // namespace

template <typename T>
kernels::Gemm<T>& gemm() {
  static TorchGemm<T> instance;
  return instance;
}

template kernels::Gemm<float>& gemm();
template kernels::Gemm<bfloat16>& gemm();

}  // namespace retro::cuda
