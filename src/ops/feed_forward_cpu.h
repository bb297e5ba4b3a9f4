// The feed-forward block on the CPU, over blocks of tokens whose inner activations stay in the
// caches.
#pragma once

#include <cstdint>

#include "retro/ops/precision.h"

namespace retro {

/// Contiguous matrices.
template <typename T>
struct FeedForwardShape {
  int64_t tokens;
  int64_t width;
  int64_t inner;
  const T* input;  ///< [tokens, width]
  const T* up;     ///< [inner, width]
  const T* down;   ///< [width, inner]
  Precision precision;
};

template <typename T>
struct FeedForwardOutputs {
  const T* residual;  ///< [tokens, width], added to the output; or null
  T* output;          ///< [tokens, width]
  T* inner;           ///< [tokens, inner]: up(input), for the backward; or null
};

/// Null gradients are not formed; grad_up and grad_down are added to.
template <typename T>
struct FeedForwardGradients {
  const T* inner;
  const T* grad_output;
  T* grad_input;
  T* grad_up;
  T* grad_down;
};

template <typename T>
void feed_forward_forward_cpu(const FeedForwardShape<T>& shape,
                              const FeedForwardOutputs<T>& outputs);

template <typename T>
void feed_forward_backward_cpu(const FeedForwardShape<T>& shape,
                               const FeedForwardGradients<T>& gradients);

}  // namespace retro
