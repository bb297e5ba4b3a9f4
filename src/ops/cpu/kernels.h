// The CPU kernels of one instruction set, chosen once at run time.
#pragma once

#include <cstdint>

#include "cpu/attention_problem.h"
#include "cpu/block_kernels.h"
#include "cpu/elementwise_kernels.h"
#include "cpu/gemm_kernels.h"

namespace retro::cpu {

/// Attention over a range of work units; every thread passes a scratch block of its own.
template <typename T>
struct AttentionKernels {
  int64_t (*forward_units)(const AttentionProblem<T>&);
  int64_t (*forward_scratch)(const AttentionProblem<T>&);  ///< elements
  void (*forward)(const AttentionProblem<T>&, const AttentionResult<T>&, int64_t begin, int64_t end,
                  T* scratch);
  int64_t (*backward_scratch)(const AttentionProblem<T>&);  ///< elements
  void (*backward)(const AttentionProblem<T>&, const AttentionGradients<T>&, int64_t begin,
                   int64_t end, T* scratch);
};

/// All kernels of one instruction set.
struct Kernels {
  const char* name;
  bool has_bfloat16;  ///< may be joined by avx512_bfloat16_gemm_kernels()
  AttentionKernels<float> attention_float;
  AttentionKernels<double> attention_double;
  GemmKernels<float> gemm_float;
  GemmKernels<double> gemm_double;
  ElementwiseKernels<float> elementwise_float;
  ElementwiseKernels<double> elementwise_double;
  BlockKernels blocks_q8_0;
  BlockKernels blocks_bfloat16;
};

/// "avx2" (the x86-64-v3 baseline) and "avx512" (F, BW, DQ, VL).
const Kernels& avx2_kernels();
const Kernels& avx512_kernels();
/// Matrix products of bfloat16 pairs with float32 sums (AVX512_BF16).
const GemmKernels<float>& avx512_bfloat16_gemm_kernels();

/// The widest this CPU has.
const Kernels& best_kernels();
/// Those in use: the best, unless a test chose others before the first operation.
const Kernels& active_kernels();
void use_kernels(const Kernels& kernels);

template <typename T>
const AttentionKernels<T>& attention_kernels();
template <typename T>
const GemmKernels<T>& gemm_kernels();
/// Null where the CPU has no bfloat16 dot products.
const GemmKernels<float>* bfloat16_gemm_kernels();
template <typename T>
const ElementwiseKernels<T>& elementwise_kernels();

}  // namespace retro::cpu
