// Attention backward: recomputes the scores tile by tile from the stored log-sum-exp.
#pragma once

#include "cpu/attention_pack.h"

namespace retro::cpu {

/// Work units: (slice of items, key head). One unit owns its items' key and value gradients and its
/// slice of the relative and bias gradients, so nothing is shared between threads.
template <typename T, int Bytes>
class AttentionBackward {
 public:
  /// Several register blocks of rows: the products that sum over rows need some depth.
  using Extents = TileExtents<48, 128>;
  using Sizes = AttentionSizes<T, Bytes, Extents>;

  AttentionBackward(const AttentionProblem<T>& problem, const AttentionGradients<T>& gradients,
                    T* scratch)
      : problem_(problem), gradients_(gradients), sizes_(problem) {
    ScratchCursor<T> cursor(scratch);
    packed_.keys = keys_transposed_ = cursor.take(problem.width * sizes_.keys);
    values_transposed_ = cursor.take(problem.width * sizes_.keys);
    keys_ = cursor.take(problem.keys * sizes_.width);
    key_sums_ = cursor.take(problem.keys * sizes_.width);
    value_sums_ = cursor.take(problem.keys * sizes_.width);
    if (problem.relative) {
      distances_transposed_ = cursor.take(problem.width * sizes_.columns + sizes_.margin);
      distances_ = cursor.take(sizes_.columns * sizes_.width);
      distance_sums_ = cursor.take(sizes_.columns * sizes_.width);
    }
    packed_.distances = distances_transposed_;
    packed_.content_query = content_query_ = cursor.take(Extents::kRows * sizes_.width);
    packed_.position_query = position_query_ = cursor.take(Extents::kRows * sizes_.width);
    packed_.positions = cursor.take(Extents::kRows * Sizes::kPositionStride);
    position_gradients_ = cursor.take(Extents::kRows * Sizes::kPositionStride);
    grad_out_ = cursor.take(Extents::kRows * sizes_.width);
    content_sums_ = cursor.take(Extents::kRows * sizes_.width);
    position_sums_ = cursor.take(Extents::kRows * sizes_.width);
    probabilities_ = cursor.take(Extents::kRows * Sizes::kScoreStride);
    score_gradients_ = cursor.take(Extents::kRows * Sizes::kScoreStride);
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
    fill_zero(content_bias_sum_, sizes_.width);
    fill_zero(position_bias_sum_, sizes_.width);
    if (problem_.relative) {
      pack_distances_transposed<T, Bytes, Extents>(problem_, head, distances_transposed_);
      pack_distances<T, Bytes, Extents>(problem_, head, distances_);
      fill_zero(distance_sums_, sizes_.columns * sizes_.width);
    }
    for (int64_t i = begin; i < end; ++i) {
      run_item(problem_.item(i), head);
      write_keys(problem_.item(i), head, is_first_of_group);
    }
    write_shared(slice, head);
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
    const EvenBlocks blocks(problem_.rows_of(item), Extents::kRows);
    for (int64_t b = 0; b < blocks.count; ++b) {
      const int64_t row = blocks.begin(b);
      const int64_t rows = blocks.begin(b + 1) - row;
      pack_block(item, head, row, rows);
      run_block(item, row, rows);
      write_query(item, head, row, rows);
    }
  }

  void pack_block(AttentionItem item, int64_t head, int64_t row, int64_t rows) {
    bool use[Extents::kRows];
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
      deltas_[i] = dot(gradients_.out.at(item, row + i, head), grad_out_ + i * sizes_.width);
    }
    fill_zero(content_sums_, rows * sizes_.width);
    fill_zero(position_sums_, rows * sizes_.width);
  }

  T dot(const T* out, const T* grad_out) const {
    Vec<T, Bytes> sum{};
    int64_t a = 0;
    for (; a + Sizes::kLanes <= problem_.width; a += Sizes::kLanes) {
      sum += load<T, Bytes>(out + a) * load<T, Bytes>(grad_out + a);
    }
    T total = sum_lanes<T, Bytes>(sum);
    for (; a < problem_.width; ++a) total += out[a] * grad_out[a];
    return total;
  }

  void run_block(AttentionItem item, int64_t row, int64_t rows) {
    ScoreTile<T, Bytes, Extents> score_tile(problem_, packed_);
    AttentionTile collected{};  // whose position gradients wait in position_gradients_
    for (int64_t key = 0; key < problem_.keys;) {
      const AttentionTile tile = make_tile<T, Bytes, Extents>(problem_, item, row, rows, key, &key);
      if (tile.keys == 0) continue;
      score_tile.prepare(tile);
      const EvenBlocks blocks(rows, kBlockRows<Bytes>);
      for (int64_t b = 0; b < blocks.count; ++b) {
        differentiate_rows(item, tile, score_tile, blocks.begin(b), blocks.begin(b + 1));
      }
      accumulate_keys(tile);
      if (!problem_.relative) continue;
      const bool is_same = collected.keys == tile.keys && collected.diagonal == tile.diagonal &&
                           collected.first_column == tile.first_column;
      if (!is_same && collected.keys > 0) accumulate_positions(collected);
      collect_positions(tile, is_same);
      collected = tile;
    }
    if (collected.keys > 0) accumulate_positions(collected);
  }

  /// Rows [begin, end): probabilities <- P, score_gradients <- P (dP - delta), and the query's
  /// gradient.
  void differentiate_rows(AttentionItem item, const AttentionTile& tile,
                          const ScoreTile<T, Bytes, Extents>& score_tile, int64_t begin,
                          int64_t end) {
    const int64_t visible = tile.visible(end - 1);
    const int64_t columns = round_up(visible, Sizes::kLanes);
    T* probabilities = probabilities_ + begin * Sizes::kScoreStride;
    T* gradients = score_gradients_ + begin * Sizes::kScoreStride;
    score_tile.score_rows(item, tile, begin, end, columns, probabilities);
    tile_gemm<T, Bytes>(end - begin, columns, problem_.width,
                        {grad_out_ + begin * sizes_.width, sizes_.width, 1},
                        {values_transposed_ + tile.key, sizes_.keys},
                        tile_at<false>(gradients, Sizes::kScoreStride));
    for (int64_t i = begin; i < end; ++i) differentiate_row(columns, i);
    tile_gemm<T, Bytes>(end - begin, sizes_.width, visible, {gradients, Sizes::kScoreStride, 1},
                        {keys_ + tile.key * sizes_.width, sizes_.width},
                        tile_at<true>(content_sums_ + begin * sizes_.width, sizes_.width));
  }

  void differentiate_row(int64_t columns, int64_t i) {
    T* probabilities = probabilities_ + i * Sizes::kScoreStride;
    T* gradients = score_gradients_ + i * Sizes::kScoreStride;
    for (int64_t j = 0; j < columns; j += Sizes::kLanes) {
      const Vec<T, Bytes> p = exp2<Bytes>(load<T, Bytes>(probabilities + j) - lse_[i]);
      store<T, Bytes>(probabilities + j, p);
      store<T, Bytes>(gradients + j, p * (load<T, Bytes>(gradients + j) - deltas_[i]));
    }
    // A block of keys may reach beyond what its first row sees.
    fill_zero(probabilities + columns, Sizes::kPad);
    fill_zero(gradients + columns, Sizes::kPad);
  }

  /// Value and key gradients: sums over the tile's rows, from the first one that sees the block.
  void accumulate_keys(const AttentionTile& tile) {
    const int64_t width = sizes_.width;
    const EvenBlocks blocks(tile.keys, kBlockRows<Bytes>);
    for (int64_t b = 0; b < blocks.count; ++b) {
      const int64_t begin = blocks.begin(b);
      const int64_t keys = blocks.begin(b + 1) - begin;
      const int64_t row = begin >= tile.diagonal ? begin - tile.diagonal + 1 : 0;
      const int64_t rows = tile.rows - row;
      const int64_t score = row * Sizes::kScoreStride + begin;
      const int64_t key = (tile.key + begin) * width;
      tile_gemm<T, Bytes>(keys, width, rows, {probabilities_ + score, 1, Sizes::kScoreStride},
                          {grad_out_ + row * width, width},
                          tile_at<true>(value_sums_ + key, width));
      tile_gemm<T, Bytes>(keys, width, rows, {score_gradients_ + score, 1, Sizes::kScoreStride},
                          {content_query_ + row * width, width},
                          tile_at<true>(key_sums_ + key, width));
    }
  }

  /// Moves score gradients from (row, key) to (row, distance), with zeros on either side: blocks of
  /// rows or columns reach that far. `add`: the tile before had the same distances.
  void collect_positions(const AttentionTile& tile, bool add) {
    constexpr int64_t kLanes = Sizes::kLanes;
    for (int64_t i = 0; i < tile.rows; ++i) {
      const T* from = score_gradients_ + i * Sizes::kScoreStride;
      T* to = position_row(tile, i);
      const int64_t visible = tile.visible(i);
      if (!add) {
        fill_zero(to - Sizes::kPad, Sizes::kPad);
        for (int64_t j = 0; j < visible; j += kLanes) {
          store<T, Bytes>(to + j, load<T, Bytes>(from + j));
        }
        fill_zero(to + visible, Sizes::kPad);
      } else {
        for (int64_t j = 0; j < visible; ++j) to[j] += from[j];
      }
    }
  }

  /// Column 0 of the tile lies kPad into the buffer.
  T* position_row(const AttentionTile& tile, int64_t i) const {
    return position_gradients_ + i * Sizes::kPositionStride + Sizes::kPad + tile.rows - 1 - i;
  }

  /// The query's and the distances' gradients from the collected score gradients.
  void accumulate_positions(const AttentionTile& tile) {
    const int64_t width = sizes_.width;
    const EvenBlocks row_blocks(tile.rows, kBlockRows<Bytes>);
    for (int64_t b = 0; b < row_blocks.count; ++b) {
      const int64_t begin = row_blocks.begin(b);
      const int64_t end = row_blocks.begin(b + 1);
      const int64_t column = tile.rows - end;
      const int64_t depth = tile.visible(end - 1) + end - begin - 1;
      tile_gemm<T, Bytes>(
          end - begin, width, depth,
          {position_gradients_ + begin * Sizes::kPositionStride + Sizes::kPad + column,
           Sizes::kPositionStride, 1},
          {distances_ + (tile.first_column + column) * width, width},
          tile_at<true>(position_sums_ + begin * width, width));
    }
    accumulate_distances(tile);
  }

  void accumulate_distances(const AttentionTile& tile) {
    const int64_t width = sizes_.width;
    const int64_t first_row = tile.diagonal < 1 ? 1 - tile.diagonal : 0;
    int64_t columns = tile.rows - first_row + tile.keys - 1;
    if (tile.rows - 1 + tile.diagonal < columns) columns = tile.rows - 1 + tile.diagonal;
    const EvenBlocks blocks(columns, kBlockRows<Bytes>);
    for (int64_t b = 0; b < blocks.count; ++b) {
      const int64_t begin = blocks.begin(b);
      const int64_t end = blocks.begin(b + 1);
      // Row i holds columns rows - 1 - i .. rows - 1 - i + keys - 1.
      int64_t row = tile.rows - end;
      if (row < first_row) row = first_row;
      int64_t row_end = tile.rows + tile.keys - 1 - begin;
      if (row_end > tile.rows) row_end = tile.rows;
      tile_gemm<T, Bytes>(
          end - begin, width, row_end - row,
          {position_gradients_ + row * Sizes::kPositionStride + Sizes::kPad + begin, 1,
           Sizes::kPositionStride},
          {position_query_ + row * width, width},
          tile_at<true>(distance_sums_ + (tile.first_column + begin) * width, width));
    }
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
    for (int64_t j = 0; j < problem_.keys; ++j) {
      write_row(key_sums_ + j * sizes_.width, kLog2, is_first_of_group,
                gradients_.key.at(item, j, key_head));
      write_row(value_sums_ + j * sizes_.width, T(1), is_first_of_group,
                gradients_.value.at(item, j, key_head));
    }
  }

  void write_row(const T* sums, T factor, bool is_first, T* to) const {
    if (is_first) {
      for (int64_t a = 0; a < problem_.width; ++a) to[a] = sums[a] * factor;
    } else {
      for (int64_t a = 0; a < problem_.width; ++a) to[a] += sums[a] * factor;
    }
  }

  void write_shared(int64_t slice, int64_t head) {
    const int64_t index = slice * problem_.heads + head;
    for (int64_t a = 0; a < problem_.width; ++a) {
      gradients_.content_bias[index * problem_.width + a] = content_bias_sum_[a];
      gradients_.position_bias[index * problem_.width + a] = position_bias_sum_[a];
    }
    if (!problem_.relative) return;
    T* to = gradients_.relative + index * problem_.distances * problem_.width;
    for (int64_t x = 0; x < problem_.distances; ++x, to += problem_.width) {
      const int64_t column = sizes_.margin + problem_.distances - 1 - x;
      write_row(distance_sums_ + column * sizes_.width, kLog2, true, to);
    }
  }

  static const T* bias_of(AttentionView<const T> bias, int64_t head) {
    return bias ? bias.at({0, 0}, 0, head) : nullptr;
  }

  static void fill_zero(T* to, int64_t count) {
    for (int64_t i = 0; i < count; ++i) to[i] = T(0);
  }

  static constexpr T kLog2 = T(0.6931471805599453);  ///< undoes the unit of the packed queries

  const AttentionProblem<T>& problem_;
  const AttentionGradients<T>& gradients_;
  Sizes sizes_;
  PackedScores<T> packed_{};
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
  T* position_gradients_ = nullptr;
  T* content_bias_sum_ = nullptr;
  T* position_bias_sum_ = nullptr;
  T deltas_[Extents::kRows];
  T lse_[Extents::kRows];
  int64_t scratch_size_ = 0;
};

}  // namespace retro::cpu
