// Attention forward: online softmax over tiles of keys (Milakov & Gimelshein 2018; FlashAttention).
#pragma once

#include "cpu/attention_pack.h"

namespace retro::cpu {

/// Rows of a work unit.
inline constexpr int64_t kForwardUnitRows = 96;

/// Work units: (head, item, block of rows), rows fastest, so that neighbouring units share packed
/// keys and distances.
template <typename T>
[[gnu::always_inline]] inline int64_t row_blocks(const AttentionProblem<T>& problem) {
  return (problem.rows + kForwardUnitRows - 1) / kForwardUnitRows;
}

template <typename T, int Bytes>
class AttentionForward {
 public:
  /// One register block of rows: its scores and position terms stay in the first-level cache.
  using Extents = TileExtents<12, 256>;
  using Sizes = AttentionSizes<T, Bytes, Extents>;

  AttentionForward(const AttentionProblem<T>& problem, const AttentionResult<T>& result, T* scratch)
      : problem_(problem), result_(result), sizes_(problem) {
    ScratchCursor<T> cursor(scratch);
    packed_.keys = keys_ = cursor.take(problem.width * sizes_.keys);
    values_ = cursor.take(problem.keys * sizes_.width);
    if (problem.relative) distances_ = cursor.take(problem.width * sizes_.columns + sizes_.margin);
    packed_.distances = distances_;
    packed_.content_query = content_query_ = cursor.take(Extents::kRows * sizes_.width);
    packed_.position_query = position_query_ = cursor.take(Extents::kRows * sizes_.width);
    packed_.positions = cursor.take(Extents::kRows * Sizes::kPositionStride);
    scores_ = cursor.take(Extents::kRows * Sizes::kScoreStride);
    sums_ = cursor.take(Extents::kRows * sizes_.width);
    scratch_size_ = cursor.used();
  }

  int64_t scratch_size() const { return scratch_size_; }

  void run(int64_t begin, int64_t end) {
    const int64_t blocks = row_blocks(problem_);
    int64_t packed_pair = -1;
    int64_t packed_head = -1;
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t pair = unit / blocks;
      const int64_t head = pair / problem_.items();
      const AttentionItem item = problem_.item(pair % problem_.items());
      const int64_t row = unit % blocks * kForwardUnitRows;
      const int64_t left = problem_.rows_of(item) - row;
      if (left <= 0) continue;
      if (head != packed_head && problem_.relative) {
        pack_distances_transposed<T, Bytes, Extents>(problem_, head, distances_);
      }
      packed_head = head;
      if (pair != packed_pair) pack_item(item, head);
      packed_pair = pair;
      attend_rows(item, head, row, left < kForwardUnitRows ? left : kForwardUnitRows);
    }
  }

 private:
  void pack_item(AttentionItem item, int64_t head) {
    const int64_t key_head = head / (problem_.heads / problem_.key_heads);
    pack_keys_transposed<T, Bytes>(problem_, problem_.key, item, key_head, keys_, sizes_.keys);
    pack_keys<T, Bytes>(problem_, problem_.value, item, key_head, values_, sizes_.width);
  }

  void attend_rows(AttentionItem item, int64_t head, int64_t row, int64_t rows) {
    const EvenBlocks blocks(rows, Extents::kRows);
    for (int64_t b = 0; b < blocks.count; ++b) {
      const int64_t first = blocks.begin(b);
      attend(item, head, row + first, blocks.begin(b + 1) - first);
    }
  }

  void pack_query(AttentionItem item, int64_t head, int64_t row, int64_t rows) {
    const T scale = T(1.4426950408889634) / std::sqrt(static_cast<T>(problem_.width));
    const T* content = problem_.content_bias ? problem_.content_bias.at({0, 0}, 0, head) : nullptr;
    pack_rows<T, Bytes>(problem_.query, item, head, row, rows, problem_.width, content, scale,
                        nullptr, content_query_, sizes_.width);
    if (!problem_.relative) return;
    const T* position =
        problem_.position_bias ? problem_.position_bias.at({0, 0}, 0, head) : nullptr;
    pack_rows<T, Bytes>(problem_.query, item, head, row, rows, problem_.width, position, scale,
                        nullptr, position_query_, sizes_.width);
  }

  void attend(AttentionItem item, int64_t head, int64_t row, int64_t rows) {
    pack_query(item, head, row, rows);
    for (int64_t i = 0; i < rows; ++i) {
      maxima_[i] = minus_infinity<T>();
      denominators_[i] = T(0);
    }
    for (int64_t i = 0; i < rows * sizes_.width; ++i) sums_[i] = T(0);
    ScoreTile<T, Bytes, Extents> score_tile(problem_, packed_);
    for (int64_t key = 0; key < problem_.keys;) {
      const AttentionTile tile = make_tile<T, Bytes, Extents>(problem_, item, row, rows, key, &key);
      if (tile.keys == 0) continue;
      score_tile.prepare(tile);
      const int64_t columns = round_up(tile.keys, Sizes::kLanes);
      score_tile.score_rows(item, tile, 0, rows, columns, scores_);
      for (int64_t i = 0; i < rows; ++i) update_softmax(columns, i);
      tile_gemm<T, Bytes>(rows, sizes_.width, tile.keys, {scores_, Sizes::kScoreStride, 1},
                          {values_ + tile.key * sizes_.width, sizes_.width},
                          tile_at<true>(sums_, sizes_.width));
    }
    for (int64_t i = 0; i < rows; ++i) write_row(item, head, row + i, i);
  }

  /// Turns a row of scores into exponentials against the running maximum.
  void update_softmax(int64_t columns, int64_t i) {
    constexpr int64_t kLanes = Sizes::kLanes;
    T* scores = scores_ + i * Sizes::kScoreStride;
    Vec<T, Bytes> largest = splat<T, Bytes>(maxima_[i]);
    for (int64_t j = 0; j < columns; j += kLanes) {
      largest = larger<T, Bytes>(largest, load<T, Bytes>(scores + j));
    }
    const T maximum = max_lane<T, Bytes>(largest);
    if (maximum == minus_infinity<T>()) {
      for (int64_t j = 0; j < columns; ++j) scores[j] = T(0);
      return;
    }
    Vec<T, Bytes> sum{};
    for (int64_t j = 0; j < columns; j += kLanes) {
      const Vec<T, Bytes> e = exp2<Bytes>(load<T, Bytes>(scores + j) - maximum);
      store<T, Bytes>(scores + j, e);
      sum += e;
    }
    if (maximum > maxima_[i]) {
      rescale(i, exp2<Bytes>(splat<T, Bytes>(maxima_[i] - maximum))[0]);
    }
    maxima_[i] = maximum;
    denominators_[i] += sum_lanes<T, Bytes>(sum);
  }

  void rescale(int64_t i, T factor) {
    denominators_[i] *= factor;
    T* sums = sums_ + i * sizes_.width;
    for (int64_t a = 0; a < sizes_.width; a += Sizes::kLanes) {
      store<T, Bytes>(sums + a, load<T, Bytes>(sums + a) * factor);
    }
  }

  void write_row(AttentionItem item, int64_t head, int64_t row, int64_t i) {
    const bool is_empty = maxima_[i] == minus_infinity<T>();
    const T* sums = sums_ + i * sizes_.width;
    T* out = result_.out.at(item, row, head);
    const T factor = is_empty ? T(0) : T(1) / denominators_[i];
    for (int64_t a = 0; a < problem_.width; ++a) out[a] = is_empty ? T(0) : sums[a] * factor;
    *result_.lse.at(item, row, head) =
        is_empty ? minus_infinity<T>() : maxima_[i] + std::log2(denominators_[i]);
  }

  const AttentionProblem<T>& problem_;
  const AttentionResult<T>& result_;
  Sizes sizes_;
  PackedScores<T> packed_{};
  T* keys_ = nullptr;
  T* values_ = nullptr;
  T* distances_ = nullptr;
  T* content_query_ = nullptr;
  T* position_query_ = nullptr;
  T* scores_ = nullptr;
  T* sums_ = nullptr;
  T maxima_[Extents::kRows];
  T denominators_[Extents::kRows];
  int64_t scratch_size_ = 0;
};

}  // namespace retro::cpu
