// The entry points of element-by-element kernels on one instruction set.
#pragma once

#include "cpu/cross_entropy_types.h"

namespace retro::cpu {

/// What cpu/swiglu.h's backward reads and writes, all of one length.
template <typename T>
struct SwigluGradients {
  const T* gate;
  const T* up;
  const T* grad_output;
  T* grad_gate;
  T* grad_up;
};

template <typename T>
struct ElementwiseKernels {
  void (*gelu_forward)(const T* input, T* output, int64_t count);
  void (*gelu_backward)(const T* input, const T* grad_output, T* grad_input, int64_t count);
  void (*gelu_both)(const T* input, T* gradient, T* activated, int64_t count);
  void (*swiglu_forward)(const T* gate, const T* up, T* output, int64_t count);
  void (*swiglu_backward)(const SwigluGradients<T>& params, int64_t begin, int64_t end);
  /// cpu/cross_entropy.h, in full precision and with bfloat16 storage (float32 only, else null).
  void (*softmax_block)(const T* logits, int64_t count, RunningSoftmax<T>* running, T* stored);
  void (*softmax_block_bfloat16)(const T* logits, int64_t count, RunningSoftmax<T>* running,
                                 Bfloat16* stored);
  void (*scale_block)(const T* stored, int64_t count, T factor, T* out);
  void (*scale_block_bfloat16)(const Bfloat16* stored, int64_t count, T factor, T* out);
};

}  // namespace retro::cpu
