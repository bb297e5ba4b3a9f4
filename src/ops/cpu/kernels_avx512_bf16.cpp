// Compiled with AVX-512 and AVX512_BF16 enabled (see CMakeLists.txt).
#include "cpu/bfloat16_run_reader.h"
#include "cpu/gemm_entry.h"
#include "cpu/kernels.h"

namespace retro::cpu {

const GemmKernels<float>& avx512_bfloat16_gemm_kernels() {
  static const GemmKernels<float> kernels = make_gemm_kernels<Bfloat16Multiplier>();
  return kernels;
}

}  // namespace retro::cpu
