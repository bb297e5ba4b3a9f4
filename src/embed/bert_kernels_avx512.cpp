// Compiled with -mavx512f -mavx512bw -mavx512vl; called only where the CPU has them.
#include "bert_kernels_tile.h"

namespace retro {

BertKernels<float> bert_kernels_avx512(const float* /*tag*/) {
  return BertLoops<16>::kernels<float>();
}

BertKernels<Bfloat16Bits> bert_kernels_avx512(const Bfloat16Bits* /*tag*/) {
  return BertLoops<16>::kernels<Bfloat16Bits>();
}

}  // namespace retro
