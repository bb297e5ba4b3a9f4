// The loops of BERT beside its matrix products, compiled once per instruction set.
#pragma once

#include <cstdint>

namespace retro {

/// A bfloat16 as bits.
using Bfloat16Bits = uint16_t;

/// One attention head of one text. Storage S is float or Bfloat16Bits; arithmetic is float32.
template <class S>
struct AttentionHead {
  const S* query;  ///< [length, head_width], rows `input_stride` apart; key and value likewise
  const S* key;
  const S* value;
  S* context;  ///< [length, head_width], rows `context_stride` apart
  int64_t input_stride;
  int64_t context_stride;
  int64_t length;
  int64_t head_width;
};

/// Residual and layer norm of consecutive rows: x <- norm(x + y) * gain + shift, all rows `width`
/// long.
template <class S>
struct ResidualNorm {
  float* residual;        ///< x, in place
  const S* update;        ///< y; null: nothing is added
  Bfloat16Bits* rounded;  ///< receives x in bfloat16 as well; may be null
  const float* gain;
  const float* shift;
  int64_t rows;
  int64_t width;
  float epsilon;
};

template <class S>
struct BertKernels {
  /// context = softmax(q k^T / sqrt(head_width)) v. `scratch` holds attention_scratch_floats.
  void (*attend)(const AttentionHead<S>& head, float* scratch);
  void (*residual_norm)(const ResidualNorm<S>& task);
};

/// Enough for every instruction set.
int64_t attention_scratch_floats(int64_t length, int64_t head_width);

/// Those of the widest instruction set of this CPU.
template <class S>
BertKernels<S> select_bert_kernels();

}  // namespace retro
