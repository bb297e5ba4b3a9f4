// Attention with Transformer-XL relative positions, and chunked cross-attention as one of its
// arrangements (METHOD section 3).
//
//   logit(i, j) = [ (q_i + b_u) . k_j + (q_i + b_v) . relative[delta(i, j) - first_distance] ] /
//   sqrt(A) delta(i, j) = i - (j mod key_period) + distance_offset
#pragma once

#include <cstdint>

#include "kernels/stream.h"

namespace retro::kernels {

/// A tensor [batch, chunk, row, head, width], the last dimension contiguous, strides in elements.
/// Null data: absent. Where T is float or bfloat16 every row starts at a multiple of 16 bytes.
template <typename T>
struct AttentionView {
  T* data = nullptr;
  int64_t batch_stride = 0;
  int64_t chunk_stride = 0;
  int64_t row_stride = 0;
  int64_t head_stride = 0;
};

/// Attention over batches x chunks independent items. T: float or bfloat16; the softmax and all
/// sums are float32.
template <typename T>
struct AttentionParams {
  int64_t batches = 0;
  int64_t chunks = 1;
  int64_t rows = 0;  ///< queries of an item
  int64_t last_rows =
      0;             ///< queries of the last chunk of a batch element; `rows` where chunks is 1
  int64_t keys = 0;  ///< keys of an item
  int64_t heads = 0;
  int64_t key_heads = 0;  ///< divides heads
  int64_t width = 0;      ///< 32, 64, 96 or 128
  int64_t distances = 0;  ///< rows of `relative`

  AttentionView<const T> query;
  AttentionView<const T> key;
  AttentionView<const T> value;
  AttentionView<const T> relative;          ///< by row and head; absent: no position term
  AttentionView<const float> content_bias;  ///< by head; absent: 0
  AttentionView<const float> position_bias;
  AttentionView<const bool> key_is_real;    ///< false: never attended to, whatever it holds
  AttentionView<const bool> row_is_active;  ///< false: the row gives exactly 0
  AttentionView<const int64_t>
      query_segment;  ///< with key_segment: a row sees its own segment only
  AttentionView<const int64_t> key_segment;

  bool is_causal = false;  ///< query i sees keys j <= i + causal_offset
  int64_t causal_offset = 0;
  int64_t distance_offset = 0;
  int64_t key_period = 0;  ///< 0: keys
  int64_t first_distance = 0;

  AttentionView<T> out;  ///< a row without a visible key is exactly 0
  float* lse = nullptr;  ///< [batches, chunks, heads, rows]: log of the softmax's denominator
};

/// What the backward reads and writes beside the forward's params (whose out and lse it reads).
template <typename T>
struct AttentionBackwardParams {
  AttentionParams<T> forward;
  AttentionView<const T> grad_out;
  AttentionView<T> grad_query;
  AttentionView<T> grad_key;
  AttentionView<T> grad_value;
  T* grad_relative = nullptr;           ///< [distances, heads, width] or null
  float* grad_content_bias = nullptr;   ///< [heads, width] or null
  float* grad_position_bias = nullptr;  ///< [heads, width] or null
  float* workspace = nullptr;           ///< attention_workspace_floats() floats
  int64_t slices = 0;                   ///< set by the launcher
};

/// float32 numbers that the backward needs for a while: row statistics and partial sums.
template <typename T>
int64_t attention_workspace_floats(const AttentionParams<T>& params);

/// Throw std::invalid_argument for a head width or an alignment that no kernel has. Deterministic:
/// no atomics, and every sum's order follows from the shape.
template <typename T>
void launch_relative_attention_forward(const AttentionParams<T>& params, StreamHandle stream);
template <typename T>
void launch_relative_attention_backward(const AttentionBackwardParams<T>& params,
                                        StreamHandle stream);

}  // namespace retro::kernels
