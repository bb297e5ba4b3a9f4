// The CPU kernels of one instruction set, chosen once at run time.
#pragma once

#include <cstdint>

#include "cpu/attention_problem.h"

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
  AttentionKernels<float> attention_float;
  AttentionKernels<double> attention_double;
};

/// "avx2" (the x86-64-v3 baseline) and "avx512" (F, BW, DQ, VL).
const Kernels& avx2_kernels();
const Kernels& avx512_kernels();
/// The widest this CPU has.
const Kernels& best_kernels();

template <typename T>
const AttentionKernels<T>& attention_kernels();

}  // namespace retro::cpu
