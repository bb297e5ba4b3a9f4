// What the attention kernels read and write: raw pointers, strides in elements, geometry. No Torch.
#pragma once

#include <cstdint>

namespace retro::cpu {

/// One independent attention: a batch element and, in chunked cross-attention, one of its chunks.
struct AttentionItem {
  int64_t batch;
  int64_t chunk;
};

/// A tensor [batch, chunk, row, head, width], the last dimension contiguous. Null data: absent.
template <typename T>
struct AttentionView {
  T* data = nullptr;
  int64_t batch_stride = 0;
  int64_t chunk_stride = 0;
  int64_t row_stride = 0;
  int64_t head_stride = 0;

  [[gnu::always_inline]] inline explicit operator bool() const { return data != nullptr; }
  [[gnu::always_inline]] inline T* at(AttentionItem item, int64_t row, int64_t head = 0) const {
    return data + item.batch * batch_stride + item.chunk * chunk_stride + row * row_stride +
           head * head_stride;
  }
};

/// Relative attention over batches x chunks items (retro/ops/relative_attention.h has the
/// equation). Rows are counted within an item; the last chunk of a batch element may have fewer.
template <typename T>
struct AttentionProblem {
  int64_t batches = 0;
  int64_t chunks = 1;
  int64_t rows = 0;
  int64_t last_rows = 0;
  int64_t keys = 0;
  int64_t heads = 0;
  int64_t key_heads = 0;
  int64_t width = 0;
  int64_t distances = 0;  ///< rows of `relative`

  AttentionView<const T> query;
  AttentionView<const T> key;
  AttentionView<const T> value;
  AttentionView<const T> relative;       ///< row, head
  AttentionView<const T> content_bias;   ///< head
  AttentionView<const T> position_bias;  ///< head
  AttentionView<const bool> key_is_real;
  AttentionView<const bool> row_is_active;
  AttentionView<const int64_t> query_segment;
  AttentionView<const int64_t> key_segment;

  bool is_causal = false;
  int64_t causal_offset = 0;
  int64_t distance_offset = 0;
  int64_t key_period = 0;
  int64_t first_distance = 0;

  [[gnu::always_inline]] inline int64_t items() const { return batches * chunks; }
  [[gnu::always_inline]] inline AttentionItem item(int64_t index) const {
    return {index / chunks, index % chunks};
  }
  [[gnu::always_inline]] inline int64_t rows_of(AttentionItem which) const {
    return which.chunk + 1 == chunks ? last_rows : rows;
  }
};

/// Written by the forward: `lse` holds log2 of the softmax's denominator per row and head
/// (-infinity where no key is visible), with scores in units of log 2.
template <typename T>
struct AttentionResult {
  AttentionView<T> out;
  AttentionView<T> lse;
};

/// Read and written by the backward. Relative and bias gradients come as `slices` partial sums,
/// which the caller adds in order: the number of slices follows from the shape, so that no sum
/// depends on threads.
template <typename T>
struct AttentionGradients {
  AttentionView<const T> out;
  AttentionView<const T> lse;
  AttentionView<const T> grad_out;
  AttentionView<T> query;
  AttentionView<T> key;
  AttentionView<T> value;
  int64_t slices = 1;
  T* relative = nullptr;       ///< [slices, heads, distances, width]
  T* content_bias = nullptr;   ///< [slices, heads, width]
  T* position_bias = nullptr;  ///< [slices, heads, width]
};

}  // namespace retro::cpu
