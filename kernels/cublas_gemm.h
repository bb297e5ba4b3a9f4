// cuBLAS as the matrix product beside a kernel.
#pragma once

#include "kernels/gemm.h"

struct cublasContext;

namespace retro::kernels {

/// float32 products without TF32, bfloat16 products with float32 sums and output.
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
