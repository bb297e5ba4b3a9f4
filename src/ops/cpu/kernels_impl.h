// Builds the kernel table of one vector size; included once by each instruction set's file.
#pragma once

#include "cpu/attention_backward.h"
#include "cpu/attention_forward.h"
#include "cpu/block_gemv.h"
#include "cpu/cross_entropy.h"
#include "cpu/gelu.h"
#include "cpu/gemm_entry.h"
#include "cpu/kernels.h"
#include "cpu/swiglu.h"

namespace retro::cpu {

template <typename T, int Bytes>
struct AttentionEntry {
  static int64_t forward_units(const AttentionProblem<T>& problem) {
    return problem.heads * problem.items() * row_blocks(problem);
  }
  static int64_t forward_scratch(const AttentionProblem<T>& problem) {
    return AttentionForward<T, Bytes>(problem, {}, nullptr).scratch_size();
  }
  static void forward(const AttentionProblem<T>& problem, const AttentionResult<T>& result,
                      int64_t begin, int64_t end, T* scratch) {
    AttentionForward<T, Bytes>(problem, result, scratch).run(begin, end);
  }
  static int64_t backward_scratch(const AttentionProblem<T>& problem) {
    return AttentionBackward<T, Bytes>(problem, {}, nullptr).scratch_size();
  }
  static void backward(const AttentionProblem<T>& problem, const AttentionGradients<T>& gradients,
                       int64_t begin, int64_t end, T* scratch) {
    AttentionBackward<T, Bytes>(problem, gradients, scratch).run(begin, end);
  }
  static AttentionKernels<T> table() {
    return {forward_units, forward_scratch, forward, backward_scratch, backward};
  }
};

template <int Bytes>
Kernels make_kernels(const char* name) {
  return {.name = name,
          .has_bfloat16 = Bytes == 64,
          .attention_float = AttentionEntry<float, Bytes>::table(),
          .attention_double = AttentionEntry<double, Bytes>::table(),
          .gemm_float = make_gemm_kernels<NativeMultiplier<float, Bytes>>(),
          .gemm_double = make_gemm_kernels<NativeMultiplier<double, Bytes>>(),
          .elementwise_float = {.gelu_forward = gelu_forward<float, Bytes>,
                                .gelu_backward = gelu_backward<float, Bytes>,
                                .gelu_both = gelu_both<float, Bytes>,
                                .swiglu_forward = swiglu_forward<float, Bytes>,
                                .swiglu_backward = swiglu_backward<float, Bytes>,
                                .softmax_block = softmax_block<float, Bytes, float>,
                                .softmax_block_bfloat16 = softmax_block<float, Bytes, Bfloat16>,
                                .scale_block = scale_block<float, Bytes, float>,
                                .scale_block_bfloat16 = scale_block<float, Bytes, Bfloat16>},
          .elementwise_double = {.gelu_forward = gelu_forward<double, Bytes>,
                                 .gelu_backward = gelu_backward<double, Bytes>,
                                 .gelu_both = gelu_both<double, Bytes>,
                                 .swiglu_forward = swiglu_forward<double, Bytes>,
                                 .swiglu_backward = swiglu_backward<double, Bytes>,
                                 .softmax_block = softmax_block<double, Bytes, double>,
                                 .softmax_block_bfloat16 = nullptr,
                                 .scale_block = scale_block<double, Bytes, double>,
                                 .scale_block_bfloat16 = nullptr},
          .blocks_q8_0 = BlockGemv<Q8Blocks, Bytes>::table(),
          .blocks_bfloat16 = BlockGemv<Bfloat16Blocks, Bytes>::table()};
}

}  // namespace retro::cpu
