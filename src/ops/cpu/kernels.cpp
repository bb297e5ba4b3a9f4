#include "cpu/kernels.h"

namespace retro::cpu {

namespace {

bool has_avx512() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
}

}  // namespace

const Kernels& best_kernels() {
  static const Kernels& kernels = has_avx512() ? avx512_kernels() : avx2_kernels();
  return kernels;
}

template <>
const AttentionKernels<float>& attention_kernels<float>() {
  return best_kernels().attention_float;
}

template <>
const AttentionKernels<double>& attention_kernels<double>() {
  return best_kernels().attention_double;
}

}  // namespace retro::cpu
