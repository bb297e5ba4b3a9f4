// Attention forward: online softmax over tiles of keys (Milakov & Gimelshein 2018; FlashAttention).
#pragma once

#include "cpu/attention_tiles.h"

namespace retro::cpu {

/// Work units: (head, item, block of kTileRows rows), rows fastest, so that neighbouring units
/// share packed keys and distances.
template <typename T>
[[gnu::always_inline]] inline int64_t row_blocks(const AttentionProblem<T>& problem) {
  return (problem.rows + kTileRows - 1) / kTileRows;
}

template <typename T, int Bytes>
class AttentionForward {
 public:
  using Sizes = AttentionSizes<T, Bytes>;

  AttentionForward(const AttentionProblem<T>& problem, const AttentionResult<T>& result, T* scratch)
      : problem_(problem), result_(result), sizes_(problem) {
    ScratchCursor<T> cursor(scratch);
    keys_ = cursor.take(problem.width * sizes_.keys);
    values_ = cursor.take((problem.keys + kTileKeys) * sizes_.width);
    if (problem.relative) distances_ = cursor.take(problem.width * sizes_.columns);
    content_query_ = cursor.take(kTileRows * sizes_.width);
    position_query_ = cursor.take(kTileRows * sizes_.width);
    scores_ = cursor.take(kTileRows * Sizes::kScoreStride);
    positions_ = cursor.take(kTileRows * Sizes::kPositionStride);
    sums_ = cursor.take(kTileRows * sizes_.width);
    maxima_ = cursor.take(kTileRows);
    denominators_ = cursor.take(kTileRows);
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
      const int64_t row = unit % blocks * kTileRows;
      const int64_t rows = problem_.rows_of(item) - row;
      if (rows <= 0) continue;
      if (head != packed_head && problem_.relative) {
        pack_distances_transposed<T, Bytes>(problem_, head, distances_);
      }
      packed_head = head;
      if (pair != packed_pair) pack_item(item, head);
      packed_pair = pair;
      attend(item, head, row, rows < kTileRows ? rows : kTileRows);
    }
  }

 private:
  void pack_item(AttentionItem item, int64_t head) {
    const int64_t key_head = head / (problem_.heads / problem_.key_heads);
    pack_keys_transposed<T, Bytes>(problem_, problem_.key, item, key_head, keys_, sizes_.keys);
    pack_keys<T, Bytes>(problem_, problem_.value, item, key_head, values_, sizes_.width);
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
    const PackedScores<T> packed{.content_query = content_query_,
                                 .position_query = position_query_,
                                 .query_stride = sizes_.width,
                                 .keys = keys_,
                                 .distances = distances_,
                                 .positions = positions_};
    for (int64_t key = 0; key < problem_.keys;) {
      const AttentionTile tile = make_tile<T, Bytes>(problem_, item, row, rows, key, &key);
      if (tile.keys == 0) continue;
      score_tile<T, Bytes>(problem_, item, tile, packed, scores_);
      for (int64_t i = 0; i < rows; ++i) update_softmax(tile, i);
      tile_gemm<T, Bytes>(rows, sizes_.width, tile.keys, {scores_, Sizes::kScoreStride, 1},
                          values_ + tile.key * sizes_.width, sizes_.width, sums_, sizes_.width,
                          true);
    }
    for (int64_t i = 0; i < rows; ++i) write_row(item, head, row + i, i);
  }

  /// Turns a row of scores into exponentials against the running maximum.
  void update_softmax(const AttentionTile& tile, int64_t i) {
    constexpr int64_t kLanes = Sizes::kLanes;
    T* scores = scores_ + i * Sizes::kScoreStride;
    Vec<T, Bytes> largest = splat<T, Bytes>(maxima_[i]);
    for (int64_t j = 0; j < tile.padded_keys; j += kLanes) {
      largest = larger<T, Bytes>(largest, load<T, Bytes>(scores + j));
    }
    const T maximum = max_lane<T, Bytes>(largest);
    if (maximum == minus_infinity<T>()) {
      for (int64_t j = 0; j < tile.padded_keys; ++j) scores[j] = T(0);
      return;
    }
    Vec<T, Bytes> sum{};
    for (int64_t j = 0; j < tile.padded_keys; j += kLanes) {
      const Vec<T, Bytes> e = exp2<Bytes>(load<T, Bytes>(scores + j) - maximum);
      store<T, Bytes>(scores + j, e);
      sum += e;
    }
    if (maximum > maxima_[i]) rescale(i, std::exp2(maxima_[i] - maximum));
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
  T* keys_ = nullptr;
  T* values_ = nullptr;
  T* distances_ = nullptr;
  T* content_query_ = nullptr;
  T* position_query_ = nullptr;
  T* scores_ = nullptr;
  T* positions_ = nullptr;
  T* sums_ = nullptr;
  T* maxima_ = nullptr;
  T* denominators_ = nullptr;
  int64_t scratch_size_ = 0;
};

}  // namespace retro::cpu
