#include "cpu/kernels.h"

#include "cpu/cpu_features.h"

namespace retro::cpu {

namespace {

const Kernels*& chosen_kernels() {
  static const Kernels* kernels = &best_kernels();
  return kernels;
}

}  // namespace

const Kernels& best_kernels() { return has_avx512() ? avx512_kernels() : avx2_kernels(); }

const Kernels& active_kernels() { return *chosen_kernels(); }

void use_kernels(const Kernels& kernels) { chosen_kernels() = &kernels; }

template <>
const AttentionKernels<float>& attention_kernels<float>() {
  return active_kernels().attention_float;
}

template <>
const AttentionKernels<double>& attention_kernels<double>() {
  return active_kernels().attention_double;
}

template <>
const GemmKernels<float>& gemm_kernels<float>() {
  return active_kernels().gemm_float;
}

template <>
const GemmKernels<double>& gemm_kernels<double>() {
  return active_kernels().gemm_double;
}

const GemmKernels<float>* bfloat16_gemm_kernels() {
  return active_kernels().has_bfloat16 && has_avx512_bfloat16() ? &avx512_bfloat16_gemm_kernels()
                                                                : nullptr;
}

template <>
const ElementwiseKernels<float>& elementwise_kernels<float>() {
  return active_kernels().elementwise_float;
}

template <>
const ElementwiseKernels<double>& elementwise_kernels<double>() {
  return active_kernels().elementwise_double;
}

}  // namespace retro::cpu
