// Copies attention's operands into the order in which its tile products read them.
#pragma once

#include "cpu/attention_tiles.h"

namespace retro::cpu {

/// rows x problem.width at `stride` <- (query + bias) * scale, and zeros up to the stride; rows
/// with use[i] false become zeros, whatever they hold.
template <typename T, int Bytes>
void pack_rows(AttentionView<const T> from, AttentionItem item, int64_t head, int64_t row,
               int64_t rows, int64_t width, const T* bias, T scale, const bool* use, T* to,
               int64_t stride) {
  for (int64_t i = 0; i < rows; ++i, to += stride) {
    const T* source = from.at(item, row + i, head);
    int64_t filled = 0;
    if (use == nullptr || use[i]) {
      filled = width;
      if (bias == nullptr) {
        for (int64_t a = 0; a < width; ++a) to[a] = source[a] * scale;
      } else {
        for (int64_t a = 0; a < width; ++a) to[a] = (source[a] + bias[a]) * scale;
      }
    }
    for (int64_t a = filled; a < stride; ++a) to[a] = T(0);
  }
}

/// One past the last real key.
template <typename T>
int64_t end_of_keys(const AttentionProblem<T>& problem, AttentionItem item) {
  int64_t end = problem.keys;
  while (end > 0 && key_is_masked(problem, item, end - 1)) --end;
  return end;
}

/// to [width, stride] <- rows transposed; masked keys and the padding become zeros.
template <typename T, int Bytes>
void pack_keys_transposed(const AttentionProblem<T>& problem, AttentionView<const T> from,
                          AttentionItem item, int64_t head, T* to, int64_t stride) {
  const Strip<T> strip{.data = from.at(item, 0, head),
                       .lane_stride = from.row_stride,
                       .depth_stride = 1,
                       .lanes = end_of_keys(problem, item),
                       .depth = problem.width};
  Packer<NativeMultiplier<T, Bytes>>::pack_transposed(strip, stride, to);
  if (!problem.key_is_real) return;
  for (int64_t j = 0; j < strip.lanes; ++j) {
    if (!key_is_masked(problem, item, j)) continue;
    for (int64_t a = 0; a < problem.width; ++a) to[a * stride + j] = T(0);
  }
}

/// to [keys, stride] <- rows; masked keys and the padding become zeros.
template <typename T, int Bytes>
void pack_keys(const AttentionProblem<T>& problem, AttentionView<const T> from, AttentionItem item,
               int64_t head, T* to, int64_t stride) {
  for (int64_t j = 0; j < problem.keys; ++j, to += stride) {
    const int64_t filled = key_is_masked(problem, item, j) ? 0 : problem.width;
    const T* source = from.at(item, j, head);
    for (int64_t a = 0; a < filled; ++a) to[a] = source[a];
    for (int64_t a = filled; a < stride; ++a) to[a] = T(0);
  }
}

/// to [width, sizes.columns], and sizes.margin elements more: column margin + c holds distance row
/// distances - 1 - c; margins become zero.
template <typename T, int Bytes, typename Extents>
void pack_distances_transposed(const AttentionProblem<T>& problem, int64_t head, T* to) {
  const AttentionSizes<T, Bytes, Extents> sizes(problem);
  for (int64_t c = 0; c < sizes.margin; ++c) to[c] = T(0);
  const Strip<T> strip{.data = problem.relative.at({0, 0}, problem.distances - 1, head),
                       .lane_stride = -problem.relative.row_stride,
                       .depth_stride = 1,
                       .lanes = problem.distances,
                       .depth = problem.width};
  // The zeros behind each row of columns are the margin before the next.
  Packer<NativeMultiplier<T, Bytes>>::pack_transposed(strip, sizes.columns, to + sizes.margin);
}

/// to [sizes.columns, sizes.width]: row margin + c holds distance row distances - 1 - c; margins
/// become zero.
template <typename T, int Bytes, typename Extents>
void pack_distances(const AttentionProblem<T>& problem, int64_t head, T* to) {
  const AttentionSizes<T, Bytes, Extents> sizes(problem);
  for (int64_t i = 0; i < sizes.margin * sizes.width; ++i) to[i] = T(0);
  to += sizes.margin * sizes.width;
  for (int64_t c = 0; c < sizes.columns - sizes.margin; ++c, to += sizes.width) {
    const int64_t filled = c < problem.distances ? problem.width : 0;
    const T* source =
        filled > 0 ? problem.relative.at({0, 0}, problem.distances - 1 - c, head) : nullptr;
    for (int64_t a = 0; a < filled; ++a) to[a] = source[a];
    for (int64_t a = filled; a < sizes.width; ++a) to[a] = T(0);
  }
}

}  // namespace retro::cpu
