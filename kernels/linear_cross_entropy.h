// Output projection and cross-entropy over tiles of tokens and of the vocabulary: the logits of one
// tile are all that exists at a time.
#pragma once

#include <cstdint>

#include "kernels/gemm.h"
#include "kernels/stream.h"

namespace retro::kernels {

/// losses[t] = -log softmax(hidden[t] W^T)[target[t]]; gradients of sum(token_weight[t] losses[t]).
template <typename T>
struct LinearCrossEntropyParams {
  const T* hidden = nullptr;         ///< [tokens, width]
  const T* weight = nullptr;         ///< [vocabulary, width]
  const int64_t* targets = nullptr;  ///< [tokens]
  const float* token_weight =
      nullptr;                   ///< [tokens]; read for gradients only, 0: none from this token
  float* losses = nullptr;       ///< [tokens]
  T* grad_hidden = nullptr;      ///< [tokens, width], or null: no gradients
  float* grad_weight = nullptr;  ///< [vocabulary, width]; the gradient is added. Null: none
  float* workspace = nullptr;    ///< linear_cross_entropy_workspace_floats() floats
  int64_t tokens = 0;
  int64_t width = 0;
  int64_t vocabulary = 0;
};

struct CrossEntropyTiles {
  int64_t tokens = 4096;
  int64_t vocabulary = 8192;
};

template <typename T>
int64_t linear_cross_entropy_workspace_floats(const LinearCrossEntropyParams<T>& params,
                                              CrossEntropyTiles tiles);

/// The products run through `gemm` in the same stream.
template <typename T>
void launch_linear_cross_entropy(const LinearCrossEntropyParams<T>& params, CrossEntropyTiles tiles,
                                 Gemm<T>& gemm, StreamHandle stream);

}  // namespace retro::kernels
