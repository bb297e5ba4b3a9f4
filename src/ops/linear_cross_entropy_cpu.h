// Output projection, softmax and their gradients on the CPU.
#pragma once

#include <cstdint>

#include "retro/ops/precision.h"

namespace retro {

/// Contiguous rows. Every token counts: the caller leaves out those of weight 0.
template <typename T>
struct CrossEntropyProblem {
  int64_t tokens;
  int64_t width;
  int64_t vocabulary;
  const T* hidden;        ///< [tokens, width]
  const T* weight;        ///< [vocabulary, width]
  int64_t weight_stride;  ///< of its rows
  const int64_t* target;  ///< [tokens]
  const T* token_weight;  ///< [tokens], read for gradients only
  T* losses;              ///< [tokens]: -log softmax(hidden W^T)[target], without token_weight
  T* grad_hidden;         ///< [tokens, width] or null
  T* grad_weight;         ///< [vocabulary, width] or null; the gradient is added
};

/// Works on tiles of at most half of the tokens and at most 512. Their exponentials, [tile,
/// vocabulary], are all that exists at a time (in bfloat16 with that precision, since the
/// gradient's products would round them anyway), and only where gradients are wanted.
template <typename T>
void cross_entropy_cpu(const CrossEntropyProblem<T>& problem, Precision precision);

}  // namespace retro
