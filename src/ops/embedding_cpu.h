// Embedding rows on the CPU.
#pragma once

#include <cstdint>

namespace retro {

struct EmbeddingIds {
  int64_t vocabulary;
  int64_t width;
  int64_t count;
  const int64_t* ids;  ///< [count], -1: padding
};

/// out [count, width] <- rows of weight [vocabulary, width].
template <typename T>
void embedding_forward_cpu(const EmbeddingIds& ids, const T* weight, T* out);

/// grad_weight [vocabulary, width] += rows of grad [count, width], each row's tokens in their
/// order.
template <typename T>
void embedding_backward_cpu(const EmbeddingIds& ids, const T* grad, T* grad_weight);

}  // namespace retro
