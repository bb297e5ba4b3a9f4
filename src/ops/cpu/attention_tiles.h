// What attention's forward and backward share: packed operands, tiles of keys, scores of one tile.
#pragma once

#include <cmath>

#include "cpu/attention_problem.h"
#include "cpu/exponential.h"
#include "cpu/tile_gemm.h"

namespace retro::cpu {

inline constexpr int64_t kTileRows = 64;
inline constexpr int64_t kTileKeys = 128;

/// Hands out pieces of one scratch block, each on a cache line; with a null base it only counts.
template <typename T>
class ScratchCursor {
 public:
  explicit ScratchCursor(T* base) : base_(base) {}
  [[gnu::always_inline]] inline T* take(int64_t count) {
    T* piece = base_ == nullptr ? nullptr : base_ + used_;
    used_ += round_up(count, 64 / static_cast<int64_t>(sizeof(T)));
    return piece;
  }
  [[gnu::always_inline]] inline int64_t used() const { return used_; }

 private:
  T* base_;
  int64_t used_ = 0;
};

/// Padded sizes. Distances are stored in falling order ("column"), so that a row of scores reads
/// its position terms forwards: column(i, j) = j' - i + column_origin with j' = j mod period.
template <typename T, int Bytes>
struct AttentionSizes {
  static constexpr int64_t kLanes = Vector<T, Bytes>::kLanes;

  [[gnu::always_inline]] inline explicit AttentionSizes(const AttentionProblem<T>& problem)
      : width(round_up(problem.width, kLanes)),
        keys(round_up(problem.keys + kTileKeys, 2 * kLanes) + kLanes),
        margin(kTileRows + kTileKeys + 2 * kLanes),
        columns(round_up(problem.distances + 2 * margin, 2 * kLanes) + kLanes),
        column_origin(problem.distances - 1 - problem.distance_offset + problem.first_distance +
                      margin),
        period(problem.key_period > 0 ? problem.key_period : problem.keys) {}

  int64_t width;    ///< of packed rows
  int64_t keys;     ///< row stride of packed, transposed keys: an odd number of vectors
  int64_t margin;   ///< zero columns on either side of the distances
  int64_t columns;  ///< row stride of packed, transposed distances
  int64_t column_origin;
  int64_t period;
  static constexpr int64_t kScoreStride = kTileKeys;
  static constexpr int64_t kPositionStride = kTileRows + kTileKeys + kLanes;
};

/// A tile: rows [row, row + rows) of an item against keys [key, key + keys), all of one period.
struct AttentionTile {
  int64_t row;
  int64_t rows;
  int64_t key;
  int64_t keys;
  int64_t padded_keys;
  int64_t first_column;    ///< column of (last row, first key)
  int64_t padded_columns;  ///< rows + keys - 1 rounded up
  bool has_masked_keys;
};

template <typename T, int Bytes>
[[gnu::always_inline]] inline bool key_is_masked(const AttentionProblem<T>& problem,
                                                 AttentionItem item, int64_t key) {
  return problem.key_is_real && !*problem.key_is_real.at(item, key);
}

/// The tile of rows [row, row + rows) that starts at `key`, cut at the period's end and at the
/// diagonal. keys == 0: nothing visible in it; `next_key` is where the following tile starts
/// (problem.keys: none).
template <typename T, int Bytes>
AttentionTile make_tile(const AttentionProblem<T>& problem, AttentionItem item, int64_t row,
                        int64_t rows, int64_t key, int64_t* next_key) {
  const AttentionSizes<T, Bytes> sizes(problem);
  const int64_t period_end = (key / sizes.period + 1) * sizes.period;
  int64_t end = key + kTileKeys < period_end ? key + kTileKeys : period_end;
  if (end > problem.keys) end = problem.keys;
  *next_key = end;
  if (problem.is_causal) {
    const int64_t last_visible = row + rows - 1 + problem.causal_offset;
    if (last_visible < end - 1) {
      end = last_visible + 1;
      *next_key = problem.keys;
    }
  }
  bool has_masked_keys = false;
  if (problem.key_is_real) {
    while (end > key && key_is_masked<T, Bytes>(problem, item, end - 1)) --end;
    while (key < end && key_is_masked<T, Bytes>(problem, item, key)) ++key;
    for (int64_t j = key; j < end; ++j) {
      has_masked_keys = has_masked_keys || key_is_masked<T, Bytes>(problem, item, j);
    }
  }
  constexpr int64_t kLanes = Vector<T, Bytes>::kLanes;
  const int64_t keys = end > key ? end - key : 0;
  return {.row = row,
          .rows = rows,
          .key = key,
          .keys = keys,
          .padded_keys = round_up(keys, kLanes),
          .first_column = key % sizes.period - (row + rows - 1) + sizes.column_origin,
          .padded_columns = round_up(rows + keys - 1, kLanes),
          .has_masked_keys = has_masked_keys};
}

/// rows x problem.width at `stride` <- (query + bias) * scale, and zeros up to the padded width;
/// rows with use[i] false become zeros, whatever they hold.
template <typename T, int Bytes>
void pack_rows(AttentionView<const T> from, AttentionItem item, int64_t head, int64_t row,
               int64_t rows, int64_t width, const T* bias, T scale, const bool* use, T* to,
               int64_t stride) {
  for (int64_t i = 0; i < rows; ++i, to += stride) {
    const T* source = from.at(item, row + i, head);
    const bool is_used = use == nullptr || use[i];
    for (int64_t a = 0; a < width; ++a) {
      to[a] = is_used ? (source[a] + (bias == nullptr ? T(0) : bias[a])) * scale : T(0);
    }
    for (int64_t a = width; a < stride; ++a) to[a] = T(0);
  }
}

/// to [width, stride] <- rows transposed; masked keys become zeros.
template <typename T, int Bytes>
void pack_keys_transposed(const AttentionProblem<T>& problem, AttentionView<const T> from,
                          AttentionItem item, int64_t head, T* to, int64_t stride) {
  for (int64_t j = 0; j < problem.keys; ++j) {
    const bool is_masked = key_is_masked<T, Bytes>(problem, item, j);
    const T* source = from.at(item, j, head);
    for (int64_t a = 0; a < problem.width; ++a) {
      to[a * stride + j] = is_masked ? T(0) : source[a];
    }
  }
}

/// to [keys, stride] <- rows; masked keys become zeros.
template <typename T, int Bytes>
void pack_keys(const AttentionProblem<T>& problem, AttentionView<const T> from, AttentionItem item,
               int64_t head, T* to, int64_t stride) {
  for (int64_t j = 0; j < problem.keys; ++j, to += stride) {
    const bool is_masked = key_is_masked<T, Bytes>(problem, item, j);
    const T* source = from.at(item, j, head);
    for (int64_t a = 0; a < problem.width; ++a) to[a] = is_masked ? T(0) : source[a];
    for (int64_t a = problem.width; a < stride; ++a) to[a] = T(0);
  }
}

/// to [width, stride]: column margin + c holds distance row distances - 1 - c; margins stay zero.
template <typename T, int Bytes>
void pack_distances_transposed(const AttentionProblem<T>& problem, int64_t head, T* to) {
  const AttentionSizes<T, Bytes> sizes(problem);
  for (int64_t i = 0; i < problem.width * sizes.columns; ++i) to[i] = T(0);
  for (int64_t c = 0; c < problem.distances; ++c) {
    const T* source = problem.relative.at({0, 0}, problem.distances - 1 - c, head);
    for (int64_t a = 0; a < problem.width; ++a) {
      to[a * sizes.columns + sizes.margin + c] = source[a];
    }
  }
}

/// scores of a row: minus infinity where the query does not see the key, and in the padding.
template <typename T, int Bytes>
void mask_scores(const AttentionProblem<T>& problem, AttentionItem item, const AttentionTile& tile,
                 int64_t row, T* scores) {
  int64_t visible = tile.keys;
  if (problem.is_causal && row + problem.causal_offset + 1 - tile.key < visible) {
    visible = row + problem.causal_offset + 1 - tile.key;
  }
  if (problem.row_is_active && !*problem.row_is_active.at(item, row)) visible = 0;
  if (visible < 0) visible = 0;
  for (int64_t j = visible; j < tile.padded_keys; ++j) scores[j] = minus_infinity<T>();
  if (tile.has_masked_keys) {
    for (int64_t j = 0; j < visible; ++j) {
      if (key_is_masked<T, Bytes>(problem, item, tile.key + j)) scores[j] = minus_infinity<T>();
    }
  }
  if (problem.query_segment) {
    const int64_t segment = *problem.query_segment.at(item, row);
    for (int64_t j = 0; j < visible; ++j) {
      if (*problem.key_segment.at(item, tile.key + j) != segment) scores[j] = minus_infinity<T>();
    }
  }
}

/// Where the packed operands of one (item, head) lie. Query rows hold (q + bias) * scale / log 2.
template <typename T>
struct PackedScores {
  const T* content_query;   ///< [rows, width]
  const T* position_query;  ///< [rows, width]
  int64_t query_stride;
  const T* keys;       ///< [width, sizes.keys]
  const T* distances;  ///< [width, sizes.columns], null: no position term
  T* positions;        ///< scratch [rows, kPositionStride]
};

/// scores [rows, kScoreStride] of a tile in units of log 2, masked.
template <typename T, int Bytes>
void score_tile(const AttentionProblem<T>& problem, AttentionItem item, const AttentionTile& tile,
                const PackedScores<T>& packed, T* scores) {
  using Sizes = AttentionSizes<T, Bytes>;
  const Sizes sizes(problem);
  tile_gemm<T, Bytes>(tile.rows, tile.padded_keys, problem.width,
                      {packed.content_query, packed.query_stride, 1}, packed.keys + tile.key,
                      sizes.keys, scores, Sizes::kScoreStride, false);
  if (packed.distances != nullptr) {
    tile_gemm<T, Bytes>(tile.rows, tile.padded_columns, problem.width,
                        {packed.position_query, packed.query_stride, 1},
                        packed.distances + tile.first_column, sizes.columns, packed.positions,
                        Sizes::kPositionStride, false);
  }
  for (int64_t i = 0; i < tile.rows; ++i) {
    T* row = scores + i * Sizes::kScoreStride;
    if (packed.distances != nullptr) {
      const T* position = packed.positions + i * Sizes::kPositionStride + tile.rows - 1 - i;
      for (int64_t j = 0; j < tile.padded_keys; j += Sizes::kLanes) {
        store<T, Bytes>(row + j, load<T, Bytes>(row + j) + load<T, Bytes>(position + j));
      }
    }
    mask_scores<T, Bytes>(problem, item, tile, tile.row + i, row);
  }
}

}  // namespace retro::cpu
