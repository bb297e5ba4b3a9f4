// What attention's forward and backward share: packed operands, tiles of keys, scores of one tile.
#pragma once

#include <cmath>

#include "cpu/attention_problem.h"
#include "cpu/exponential.h"
#include "cpu/pack.h"
#include "cpu/tile_gemm.h"

namespace retro::cpu {

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

/// Tile extents of one direction. Rows are few, since a tile of R rows and C keys touches R + C - 1
/// distances and only C of them per row count.
template <int64_t kRowCount, int64_t kKeyCount>
struct TileExtents {
  static constexpr int64_t kRows = kRowCount;
  static constexpr int64_t kKeys = kKeyCount;
};

/// Padded sizes. Distances are stored in falling order ("column"), so that a row of scores reads
/// its position terms forwards: column(i, j) = j' - i + column_origin with j' = j mod period.
template <typename T, int Bytes, typename Extents>
struct AttentionSizes {
  static constexpr int64_t kLanes = Vector<T, Bytes>::kLanes;
  /// Zeros kept beside rows of scores: a block of rows or columns may reach that far past what one
  /// row holds.
  static constexpr int64_t kPad = round_up(kBlockRows<Bytes>, kLanes);
  static constexpr int64_t kScoreStride = Extents::kKeys + kPad;
  static constexpr int64_t kPositionStride = Extents::kRows + Extents::kKeys + 2 * kPad;

  [[gnu::always_inline]] inline explicit AttentionSizes(const AttentionProblem<T>& problem)
      : width(round_up(problem.width, kLanes)),
        keys(round_up(problem.keys + kLanes, 2 * kLanes) + kLanes),
        margin(round_up(Extents::kRows + 2 * kLanes, kLanes)),
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
};

/// A tile: rows [row, row + rows) of an item against keys [key, key + keys), all of one period.
struct AttentionTile {
  int64_t row;
  int64_t rows;
  int64_t key;
  int64_t keys;
  int64_t diagonal;      ///< keys that its first row sees, were there enough; one more per row
  int64_t first_column;  ///< column of (last row, first key)
  bool has_masked_keys;

  [[gnu::always_inline]] inline int64_t visible(int64_t i) const {
    const int64_t count = diagonal + i < keys ? diagonal + i : keys;
    return count > 0 ? count : 0;
  }
  /// Distances of the tile, in columns.
  [[gnu::always_inline]] inline int64_t columns() const { return rows + keys - 1; }
};

template <typename T>
[[gnu::always_inline]] inline bool key_is_masked(const AttentionProblem<T>& problem,
                                                 AttentionItem item, int64_t key) {
  return problem.key_is_real && !*problem.key_is_real.at(item, key);
}

/// Cuts masked keys off both ends of [*key, *end); whether masked ones remain between them.
template <typename T>
bool trim_masked_keys(const AttentionProblem<T>& problem, AttentionItem item, int64_t* key,
                      int64_t* end) {
  if (!problem.key_is_real) return false;
  while (*end > *key && key_is_masked(problem, item, *end - 1)) --*end;
  while (*key < *end && key_is_masked(problem, item, *key)) ++*key;
  for (int64_t j = *key; j < *end; ++j) {
    if (key_is_masked(problem, item, j)) return true;
  }
  return false;
}

/// The tile of rows [row, row + rows) that starts at `key`, cut at the period's end and at the
/// diagonal. keys == 0: nothing visible in it; *next_key is where the following tile starts
/// (problem.keys: there is none).
template <typename T, int Bytes, typename Extents>
AttentionTile make_tile(const AttentionProblem<T>& problem, AttentionItem item, int64_t row,
                        int64_t rows, int64_t key, int64_t* next_key) {
  const AttentionSizes<T, Bytes, Extents> sizes(problem);
  const int64_t period_end = (key / sizes.period + 1) * sizes.period;
  int64_t end = key + Extents::kKeys < period_end ? key + Extents::kKeys : period_end;
  if (end > problem.keys) end = problem.keys;
  *next_key = end;
  if (problem.is_causal) {
    const int64_t last_visible = row + rows - 1 + problem.causal_offset;
    if (last_visible < end - 1) {
      end = last_visible + 1;
      *next_key = problem.keys;
    }
  }
  const bool has_masked_keys = trim_masked_keys(problem, item, &key, &end);
  const int64_t keys = end > key ? end - key : 0;
  return {.row = row,
          .rows = rows,
          .key = key,
          .keys = keys,
          .diagonal = problem.is_causal ? row + problem.causal_offset + 1 - key : keys,
          .first_column = key % sizes.period - (row + rows - 1) + sizes.column_origin,
          .has_masked_keys = has_masked_keys};
}

/// scores of a row [0, count): minus infinity where the query does not see the key, and past the
/// tile.
template <typename T>
void mask_scores(const AttentionProblem<T>& problem, AttentionItem item, const AttentionTile& tile,
                 int64_t i, int64_t count, T* scores) {
  const int64_t row = tile.row + i;
  const bool is_active = !problem.row_is_active || *problem.row_is_active.at(item, row);
  const int64_t visible = is_active ? tile.visible(i) : 0;
  for (int64_t j = visible; j < count; ++j) scores[j] = minus_infinity<T>();
  if (tile.has_masked_keys) {
    for (int64_t j = 0; j < visible; ++j) {
      if (key_is_masked(problem, item, tile.key + j)) scores[j] = minus_infinity<T>();
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
  const T* keys;            ///< [width, sizes.keys]
  const T* distances;       ///< [width, sizes.columns], null: no position term
  T* positions;             ///< scratch [rows, kPositionStride]
};

/// Scores of the tiles of one block of rows, in units of log 2 and masked.
template <typename T, int Bytes, typename Extents>
class ScoreTile {
 public:
  using Sizes = AttentionSizes<T, Bytes, Extents>;

  ScoreTile(const AttentionProblem<T>& problem, const PackedScores<T>& packed)
      : problem_(problem), packed_(packed), sizes_(problem) {}

  /// Position terms of a tile; those of the last tile serve again where it covered the same
  /// distances (the neighbours of a chunk).
  void prepare(const AttentionTile& tile) {
    if (packed_.distances == nullptr) return;
    const bool is_covered = tile.first_column >= cached_first_ &&
                            tile.first_column + tile.columns() <= cached_first_ + cached_columns_;
    if (is_covered) return;
    cached_first_ = tile.first_column;
    cached_columns_ = tile.columns();
    const EvenBlocks blocks(tile.rows, kBlockRows<Bytes>);
    for (int64_t b = 0; b < blocks.count; ++b) {
      const int64_t begin = blocks.begin(b);
      const int64_t end = blocks.begin(b + 1);
      const int64_t column = tile.rows - end;  // of (last row, first key)
      const int64_t columns = round_up(tile.visible(end - 1) + end - begin - 1, Sizes::kLanes);
      tile_gemm<T, Bytes>(
          end - begin, columns, problem_.width,
          {packed_.position_query + begin * sizes_.width, sizes_.width, 1},
          {packed_.distances + tile.first_column + column, sizes_.columns},
          tile_at<false>(packed_.positions + begin * Sizes::kPositionStride + column,
                         Sizes::kPositionStride));
    }
  }

  /// Rows [begin, end) of the tile -> scores [end - begin, kScoreStride], `columns` of them.
  void score_rows(AttentionItem item, const AttentionTile& tile, int64_t begin, int64_t end,
                  int64_t columns, T* scores) const {
    tile_gemm<T, Bytes>(end - begin, columns, problem_.width,
                        {packed_.content_query + begin * sizes_.width, sizes_.width, 1},
                        {packed_.keys + tile.key, sizes_.keys},
                        tile_at<false>(scores, Sizes::kScoreStride));
    const bool is_masked = tile.has_masked_keys || problem_.query_segment || problem_.row_is_active;
    for (int64_t i = begin; i < end; ++i, scores += Sizes::kScoreStride) {
      if (packed_.distances != nullptr) add_positions(tile, i, columns, scores);
      if (is_masked || tile.visible(i) < columns) {
        mask_scores(problem_, item, tile, i, columns, scores);
      }
    }
  }

 private:
  void add_positions(const AttentionTile& tile, int64_t i, int64_t columns, T* scores) const {
    const T* position = packed_.positions + i * Sizes::kPositionStride + tile.rows - 1 - i +
                        tile.first_column - cached_first_;
    for (int64_t j = 0; j < columns; j += Sizes::kLanes) {
      store<T, Bytes>(scores + j, load<T, Bytes>(scores + j) + load<T, Bytes>(position + j));
    }
  }

  const AttentionProblem<T>& problem_;
  const PackedScores<T>& packed_;
  Sizes sizes_;
  int64_t cached_first_ = 0;
  int64_t cached_columns_ = 0;
};

}  // namespace retro::cpu
