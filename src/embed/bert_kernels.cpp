#include "bert_kernels.h"

#include "bert_kernels_tile.h"

namespace retro {

int64_t attention_scratch_floats(int64_t length, int64_t head_width) {
  const int64_t columns = round_up(length, kColumnMultiple);
  const int64_t width = round_up(head_width, kColumnMultiple);
  return width * (round_up(length, kRows) + length + columns + kRows) + kRows * columns;
}

template <class S>
BertKernels<S> select_bert_kernels() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl")) {
    return bert_kernels_avx512(static_cast<const S*>(nullptr));
  }
  return BertLoops<8>::kernels<S>();
}

template BertKernels<float> select_bert_kernels();
template BertKernels<Bfloat16Bits> select_bert_kernels();

}  // namespace retro
