// cuBLAS as the matrix product beside a kernel.
#pragma once

#include "kernels/gemm.h"

struct cublasContext;

namespace retro::kernels {

/// float32 products without TF32, bfloat16 products with float32 sums and output, in the stream
/// that the handle is set to. A handle that is not one's own keeps its stream: setting it takes its
/// workspace away.
template <typename T>
void multiply_with_cublas(cublasContext* handle, const GemmProblem<T>& problem);

/// With a handle of its own, for programs without LibTorch. Of one device and one thread at a time.
template <typename T>
class CublasGemm : public Gemm<T> {
 public:
  CublasGemm();
  ~CublasGemm() override;
  void multiply(const GemmProblem<T>& problem, StreamHandle stream) override;

 private:
  cublasContext* handle_ = nullptr;
};

}  // namespace retro::kernels
