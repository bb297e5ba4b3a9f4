#include "kernels/cublas_gemm.h"

#include <stdexcept>
#include <string>

#include <cublas_v2.h>
#include <cuda_bf16.h>

namespace retro::kernels {

namespace {

void check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw std::runtime_error(std::string("cuBLAS: ") + cublasGetStatusString(status));
  }
}

cublasOperation_t operation(bool is_transposed) {
  return is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
}

/// Sums in float32 while it lives, whatever the handle's owner prefers.
class ExactMath {
 public:
  explicit ExactMath(cublasHandle_t handle) : handle_(handle) {
    check(cublasGetMathMode(handle_, &before_));
    check(cublasSetMathMode(handle_, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION));
  }
  ~ExactMath() { cublasSetMathMode(handle_, before_); }
  ExactMath(const ExactMath&) = delete;
  ExactMath& operator=(const ExactMath&) = delete;

 private:
  cublasHandle_t handle_;
  cublasMath_t before_ = CUBLAS_DEFAULT_MATH;
};

}  // namespace

/// cuBLAS counts columns first: a row-major c = a b is its c^T = b^T a^T, so the operands change
/// places.
template <typename T>
void multiply_with_cublas(cublasContext* handle, const GemmProblem<T>& p) {
  if (p.rows == 0 || p.columns == 0) return;
  const ExactMath exact(handle);
  const cudaDataType_t type = sizeof(T) == 2 ? CUDA_R_16BF : CUDA_R_32F;
  const float alpha = 1.0F;
  const float beta = p.adds ? 1.0F : 0.0F;
  check(cublasGemmEx(handle, operation(p.b_is_transposed), operation(p.a_is_transposed),
                     static_cast<int>(p.columns), static_cast<int>(p.rows),
                     static_cast<int>(p.depth), &alpha, p.b, type, static_cast<int>(p.b_stride),
                     p.a, type, static_cast<int>(p.a_stride), &beta, p.c, CUDA_R_32F,
                     static_cast<int>(p.c_stride), CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
}

template <typename T>
CublasGemm<T>::CublasGemm() {
  check(cublasCreate(&handle_));
}

template <typename T>
CublasGemm<T>::~CublasGemm() {
  cublasDestroy(handle_);
}

template <typename T>
void CublasGemm<T>::multiply(const GemmProblem<T>& problem, StreamHandle stream) {
  check(cublasSetStream(handle_, static_cast<cudaStream_t>(stream)));
  multiply_with_cublas(handle_, problem);
}

template void multiply_with_cublas(cublasContext*, const GemmProblem<float>&);
template void multiply_with_cublas(cublasContext*, const GemmProblem<__nv_bfloat16>&);
template class CublasGemm<float>;
template class CublasGemm<__nv_bfloat16>;

}  // namespace retro::kernels
