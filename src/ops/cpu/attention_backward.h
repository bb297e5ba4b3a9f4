// Attention backward: recomputes the scores tile by tile from the stored log-sum-exp.
#pragma once

#include "cpu/attention_tiles.h"

namespace retro::cpu {

/// Work units: (slice of items, key head). One unit owns its items' key and value gradients and its
/// slice of the relative and bias gradients, so nothing is shared between threads.
template <typename T, int Bytes>
class AttentionBackward {
 public:
  using Sizes = AttentionSizes<T, Bytes>;

  AttentionBackward(const AttentionProblem<T>& problem, const AttentionGradients<T>& gradients,
                    T* scratch)
      : problem_(problem), gradients_(gradients), sizes_(problem) {
    ScratchCursor<T> cursor(scratch);
    keys_transposed_ = cursor.take(problem.width * sizes_.keys);
    values_transposed_ = cursor.take(problem.width * sizes_.keys);
    keys_ = cursor.take((problem.keys + kTileKeys) * sizes_.width);
    key_sums_ = cursor.take((problem.keys + kTileKeys) * sizes_.width);
    value_sums_ = cursor.take((problem.keys + kTileKeys) * sizes_.width);
    if (problem.relative) {
      distances_transposed_ = cursor.take(problem.width * sizes_.columns);
      distances_ = cursor.take(sizes_.columns * sizes_.width);
      distance_sums_ = cursor.take(sizes_.columns * sizes_.width);
    }
    content_query_ = cursor.take(kTileRows * sizes_.width);
    position_query_ = cursor.take(kTileRows * sizes_.width);
    grad_out_ = cursor.take(kTileRows * sizes_.width);
    content_sums_ = cursor.take(kTileRows * sizes_.width);
    position_sums_ = cursor.take(kTileRows * sizes_.width);
    probabilities_ = cursor.take(kTileRows * Sizes::kScoreStride);
    score_gradients_ = cursor.take(kTileRows * Sizes::kScoreStride);
    positions_ = cursor.take(kTileRows * Sizes::kPositionStride);
    deltas_ = cursor.take(kTileRows);
    lse_ = cursor.take(kTileRows);
    content_bias_sum_ = cursor.take(sizes_.width);
    position_bias_sum_ = cursor.take(sizes_.width);
    scratch_size_ = cursor.used();
  }

  int64_t scratch_size() const { return scratch_size_; }

  void run(int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t slice = unit / problem_.key_heads;
      const int64_t group = problem_.heads / problem_.key_heads;
      const int64_t first_head = unit % problem_.key_heads * group;
      for (int64_t head = first_head; head < first_head + group; ++head) {
        run_head(slice, head, head == first_head);
      }
    }
  }

 private:
  void run_head(int64_t slice, int64_t head, bool is_first_of_group) {
    const int64_t begin = problem_.items() * slice / gradients_.slices;
    const int64_t end = problem_.items() * (slice + 1) / gradients_.slices;
    begin_head(head);
    for (int64_t i = begin; i < end; ++i) {
      run_item(problem_.item(i), head);
      write_keys(problem_.item(i), head, is_first_of_group);
    }
    write_shared(slice, head);
  }

  void begin_head(int64_t head) {
    fill_zero(content_bias_sum_, sizes_.width);
    fill_zero(position_bias_sum_, sizes_.width);
    if (!problem_.relative) return;
    pack_distances_transposed<T, Bytes>(problem_, head, distances_transposed_);
    fill_zero(distances_, sizes_.columns * sizes_.width);
    fill_zero(distance_sums_, sizes_.columns * sizes_.width);
    for (int64_t c = 0; c < problem_.distances; ++c) {
      const T* source = problem_.relative.at({0, 0}, problem_.distances - 1 - c, head);
      T* to = distances_ + (sizes_.margin + c) * sizes_.width;
      for (int64_t a = 0; a < problem_.width; ++a) to[a] = source[a];
    }
  }

  void run_item(AttentionItem item, int64_t head) {
    const int64_t key_head = head / (problem_.heads / problem_.key_heads);
    pack_keys_transposed<T, Bytes>(problem_, problem_.key, item, key_head, keys_transposed_,
                                   sizes_.keys);
    pack_keys_transposed<T, Bytes>(problem_, problem_.value, item, key_head, values_transposed_,
                                   sizes_.keys);
    pack_keys<T, Bytes>(problem_, problem_.key, item, key_head, keys_, sizes_.width);
    fill_zero(key_sums_, problem_.keys * sizes_.width);
    fill_zero(value_sums_, problem_.keys * sizes_.width);
    const int64_t all_rows = problem_.rows_of(item);
    for (int64_t row = 0; row < all_rows; row += kTileRows) {
      const int64_t rows = all_rows - row < kTileRows ? all_rows - row : kTileRows;
      pack_block(item, head, row, rows);
      run_block(item, row, rows);
      write_query(item, head, row, rows);
    }
  }

  void pack_block(AttentionItem item, int64_t head, int64_t row, int64_t rows) {
    bool use[kTileRows];
    for (int64_t i = 0; i < rows; ++i) {
      lse_[i] = *gradients_.lse.at(item, row + i, head);
      use[i] = lse_[i] != minus_infinity<T>();
      if (!use[i]) lse_[i] = T(0);  // its scores are all minus infinity
    }
    const T scale = T(1.4426950408889634) / std::sqrt(static_cast<T>(problem_.width));
    pack_rows<T, Bytes>(problem_.query, item, head, row, rows, problem_.width,
                        bias_of(problem_.content_bias, head), scale, use, content_query_,
                        sizes_.width);
    pack_rows<T, Bytes>(gradients_.grad_out, item, head, row, rows, problem_.width, nullptr, T(1),
                        use, grad_out_, sizes_.width);
    if (problem_.relative) {
      pack_rows<T, Bytes>(problem_.query, item, head, row, rows, problem_.width,
                          bias_of(problem_.position_bias, head), scale, use, position_query_,
                          sizes_.width);
    }
    for (int64_t i = 0; i < rows; ++i) {
      const T* out = gradients_.out.at(item, row + i, head);
      T delta = T(0);
      for (int64_t a = 0; a < problem_.width; ++a)
        delta += out[a] * grad_out_[i * sizes_.width + a];
      deltas_[i] = delta;
    }
    fill_zero(content_sums_, rows * sizes_.width);
    fill_zero(position_sums_, rows * sizes_.width);
  }

  void run_block(AttentionItem item, int64_t row, int64_t rows) {
    const PackedScores<T> packed{.content_query = content_query_,
                                 .position_query = position_query_,
                                 .query_stride = sizes_.width,
                                 .keys = keys_transposed_,
                                 .distances = distances_transposed_,
                                 .positions = positions_};
    for (int64_t key = 0; key < problem_.keys;) {
      const AttentionTile tile = make_tile<T, Bytes>(problem_, item, row, rows, key, &key);
      if (tile.keys == 0) continue;
      score_tile<T, Bytes>(problem_, item, tile, packed, probabilities_);
      tile_gemm<T, Bytes>(rows, tile.padded_keys, problem_.width, {grad_out_, sizes_.width, 1},
                          values_transposed_ + tile.key, sizes_.keys, score_gradients_,
                          Sizes::kScoreStride, false);
      for (int64_t i = 0; i < rows; ++i) differentiate_row(tile, i);
      accumulate_content(tile);
      if (problem_.relative) accumulate_positions(tile);
    }
  }

  /// probabilities <- P, score_gradients <- P (dP - delta).
  void differentiate_row(const AttentionTile& tile, int64_t i) {
    T* probabilities = probabilities_ + i * Sizes::kScoreStride;
    T* gradients = score_gradients_ + i * Sizes::kScoreStride;
    for (int64_t j = 0; j < tile.padded_keys; j += Sizes::kLanes) {
      const Vec<T, Bytes> p = exp2<Bytes>(load<T, Bytes>(probabilities + j) - lse_[i]);
      store<T, Bytes>(probabilities + j, p);
      store<T, Bytes>(gradients + j, p * (load<T, Bytes>(gradients + j) - deltas_[i]));
    }
    for (int64_t j = tile.keys; j < tile.padded_keys; ++j) gradients[j] = T(0);
  }

  void accumulate_content(const AttentionTile& tile) {
    const int64_t width = sizes_.width;
    tile_gemm<T, Bytes>(tile.keys, width, tile.rows, {probabilities_, 1, Sizes::kScoreStride},
                        grad_out_, width, value_sums_ + tile.key * width, width, true);
    tile_gemm<T, Bytes>(tile.rows, width, tile.keys, {score_gradients_, Sizes::kScoreStride, 1},
                        keys_ + tile.key * width, width, content_sums_, width, true);
    tile_gemm<T, Bytes>(tile.keys, width, tile.rows, {score_gradients_, 1, Sizes::kScoreStride},
                        content_query_, width, key_sums_ + tile.key * width, width, true);
  }

  /// Score gradients moved from (row, key) to (row, distance), then the two products with them.
  void accumulate_positions(const AttentionTile& tile) {
    const int64_t width = sizes_.width;
    const int64_t columns = tile.rows + tile.keys - 1;
    for (int64_t i = 0; i < tile.rows; ++i) {
      T* to = positions_ + i * Sizes::kPositionStride;
      const T* from = score_gradients_ + i * Sizes::kScoreStride;
      const int64_t shift = tile.rows - 1 - i;
      for (int64_t c = 0; c < shift; ++c) to[c] = T(0);
      for (int64_t j = 0; j < tile.keys; ++j) to[shift + j] = from[j];
      for (int64_t c = shift + tile.keys; c < columns; ++c) to[c] = T(0);
    }
    tile_gemm<T, Bytes>(tile.rows, width, columns, {positions_, Sizes::kPositionStride, 1},
                        distances_ + tile.first_column * width, width, position_sums_, width, true);
    tile_gemm<T, Bytes>(columns, width, tile.rows, {positions_, 1, Sizes::kPositionStride},
                        position_query_, width, distance_sums_ + tile.first_column * width, width,
                        true);
  }

  void write_query(AttentionItem item, int64_t head, int64_t row, int64_t rows) {
    const T scale = T(1) / std::sqrt(static_cast<T>(problem_.width));
    for (int64_t i = 0; i < rows; ++i) {
      T* to = gradients_.query.at(item, row + i, head);
      const T* content = content_sums_ + i * sizes_.width;
      const T* position = position_sums_ + i * sizes_.width;
      for (int64_t a = 0; a < problem_.width; ++a) {
        to[a] = (content[a] + position[a]) * scale;
        content_bias_sum_[a] += content[a] * scale;
        position_bias_sum_[a] += position[a] * scale;
      }
    }
  }

  void write_keys(AttentionItem item, int64_t head, bool is_first_of_group) {
    const int64_t key_head = head / (problem_.heads / problem_.key_heads);
    constexpr T kLog2 = T(0.6931471805599453);  // undoes the unit of the packed queries
    for (int64_t j = 0; j < problem_.keys; ++j) {
      T* key = gradients_.key.at(item, j, key_head);
      T* value = gradients_.value.at(item, j, key_head);
      for (int64_t a = 0; a < problem_.width; ++a) {
        const T key_sum = key_sums_[j * sizes_.width + a] * kLog2;
        const T value_sum = value_sums_[j * sizes_.width + a];
        key[a] = is_first_of_group ? key_sum : key[a] + key_sum;
        value[a] = is_first_of_group ? value_sum : value[a] + value_sum;
      }
    }
  }

  void write_shared(int64_t slice, int64_t head) {
    const int64_t index = slice * problem_.heads + head;
    constexpr T kLog2 = T(0.6931471805599453);
    for (int64_t a = 0; a < problem_.width; ++a) {
      gradients_.content_bias[index * problem_.width + a] = content_bias_sum_[a];
      gradients_.position_bias[index * problem_.width + a] = position_bias_sum_[a];
    }
    if (!problem_.relative) return;
    T* to = gradients_.relative + index * problem_.distances * problem_.width;
    for (int64_t x = 0; x < problem_.distances; ++x) {
      const int64_t column = sizes_.margin + problem_.distances - 1 - x;
      const T* from = distance_sums_ + column * sizes_.width;
      for (int64_t a = 0; a < problem_.width; ++a) to[x * problem_.width + a] = from[a] * kLog2;
    }
  }

  static const T* bias_of(AttentionView<const T> bias, int64_t head) {
    return bias ? bias.at({0, 0}, 0, head) : nullptr;
  }

  static void fill_zero(T* to, int64_t count) {
    for (int64_t i = 0; i < count; ++i) to[i] = T(0);
  }

  const AttentionProblem<T>& problem_;
  const AttentionGradients<T>& gradients_;
  Sizes sizes_;
  T* keys_transposed_ = nullptr;
  T* values_transposed_ = nullptr;
  T* keys_ = nullptr;
  T* key_sums_ = nullptr;
  T* value_sums_ = nullptr;
  T* distances_transposed_ = nullptr;
  T* distances_ = nullptr;
  T* distance_sums_ = nullptr;
  T* content_query_ = nullptr;
  T* position_query_ = nullptr;
  T* grad_out_ = nullptr;
  T* content_sums_ = nullptr;
  T* position_sums_ = nullptr;
  T* probabilities_ = nullptr;
  T* score_gradients_ = nullptr;
  T* positions_ = nullptr;
  T* deltas_ = nullptr;
  T* lse_ = nullptr;
  T* content_bias_sum_ = nullptr;
  T* position_bias_sum_ = nullptr;
  int64_t scratch_size_ = 0;
};

}  // namespace retro::cpu
