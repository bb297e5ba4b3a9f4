// Gradients of keys and values.
//
// A block owns a tile of keys of one key head and streams over the tiles of queries of every head
// in its group. Scores are formed transposed (a warp owns 16 keys), so that weights and dS are
// already the left sides of grad_value += P^T grad_out and grad_key += dS^T (q + b_u), without
// leaving registers. Position scores cannot be transposed likewise, since a pair picks its
// distance: they go through the window, 2 kTile distances a tile of queries; the rows of `relative`
// are a ring of two tiles.
#pragma once

#include "kernels/relative_attention_backward_query.cuh"

namespace retro::kernels {

template <typename T, typename Shape>
class AttentionBackwardKey {
 public:
  static constexpr int kTile = Shape::kTile;
  static constexpr int kWindowStride = window_stride(kWindowColumns<kTile>);
  static constexpr int64_t kSharedBytes =
      7 * Shape::kBytes +
      int64_t{kTile} * (kWindowStride + 4) * static_cast<int64_t>(sizeof(float));

  __device__ __forceinline__ explicit AttentionBackwardKey(const AttentionBackwardLaunch<T>& launch)
      : launch_(launch), params_(launch.params.forward) {
    tile_ = static_cast<int>(blockIdx.x % launch.key_tiles);
    const int64_t unit = blockIdx.x / launch.key_tiles;
    key_head_ = unit % params_.key_heads;
    place_ = place_of(params_, unit / params_.key_heads, 0);
    key_ = dynamic_shared<T>();
    value_ = dynamic_shared<T>(Shape::kBytes);
    content_query_ = dynamic_shared<T>(2 * Shape::kBytes);
    position_query_ = dynamic_shared<T>(3 * Shape::kBytes);
    grad_out_ = dynamic_shared<T>(4 * Shape::kBytes);
    relative_ = dynamic_shared<T>(5 * Shape::kBytes);
    window_ = dynamic_shared<float>(7 * Shape::kBytes);
    lse_ = window_ + kTile * kWindowStride;
    product_ = lse_ + kTile;
    segment_ = dynamic_shared<int64_t>(7 * Shape::kBytes + kTile * (kWindowStride + 2) *
                                                               static_cast<int>(sizeof(float)));
  }

  __device__ __forceinline__ void run() {
    clear(grad_key_);
    clear(grad_value_);
    load_keys();
    const int group = static_cast<int>(params_.heads / params_.key_heads);
    const int num_tiles = (place_.num_rows + kTile - 1) / kTile;
    if (bits_ != 0) {
      for (int member = 0; member < group; ++member) {
        place_.head = key_head_ * group + member;
        const int first = first_query_tile();
        for (int tile = first; tile < num_tiles; ++tile) run_queries(tile, tile == first);
      }
    }
    finish();
  }

 private:
  __device__ __forceinline__ int period() const {
    return static_cast<int>(params_.key_period > 0 ? params_.key_period : params_.keys);
  }
  /// First key of the tile, within its period and within the item.
  __device__ __forceinline__ int key_in_period() const {
    return tile_ % launch_.tiles_per_period * kTile;
  }
  __device__ __forceinline__ int first_key() const {
    return tile_ / launch_.tiles_per_period * period() + key_in_period();
  }
  __device__ __forceinline__ int end_key() const {
    return min((tile_ / launch_.tiles_per_period + 1) * period(), static_cast<int>(params_.keys));
  }
  /// The first tile of queries of which one sees a key.
  __device__ __forceinline__ int first_query_tile() const {
    if (!params_.is_causal) return 0;
    const int64_t first = first_key() - params_.causal_offset;
    return first > 0 ? static_cast<int>(first / kTile) : 0;
  }
  __device__ __forceinline__ SharedPointer<T> relative_block(int block) const {
    return relative_ + (block & 1) * Shape::kElements;
  }

  __device__ __forceinline__ void load_keys() {
    bits_ = key_bits<T, kTile>(params_, place_, first_key(), end_key());
    const auto is_real = [&](int row) { return (bits_ >> row & 1) != 0; };
    copy_tile<T, Shape>(
        key_, rows_at(params_.key, place_, key_head_) + first_key() * params_.key.row_stride,
        params_.key.row_stride, is_real);
    copy_tile<T, Shape>(
        value_, rows_at(params_.value, place_, key_head_) + first_key() * params_.value.row_stride,
        params_.value.row_stride, is_real);
    commit_copies();
  }

  __device__ __forceinline__ void run_queries(int tile, bool is_first) {
    const int first_row = tile * kTile;
    __syncthreads();  // the tile before is used up
    load_queries<T, Shape>(content_query_, position_query_, params_, place_, first_row);
    const auto& grad_view = launch_.params.grad_out;
    copy_tile<T, Shape>(
        grad_out_, rows_at(grad_view, place_, place_.head) + first_row * grad_view.row_stride,
        grad_view.row_stride, [&](int row) { return first_row + row < place_.num_rows; });
    const bool has_positions = params_.relative.data != nullptr;
    if (has_positions) {
      const int64_t base =
          params_.distance_offset - params_.first_distance - (kTile - 1) - key_in_period();
      for (int block = is_first ? tile : tile + 1; block <= tile + 1; ++block) {
        copy_relative<T, Shape>(relative_block(block), params_, place_.head,
                                base + int64_t{block} * kTile);
      }
    }
    commit_copies();
    load_statistics(first_row);
    wait_for_copies<0>();
    __syncthreads();
    if (has_positions) {
      for (int part = 0; part < 2; ++part) {
        multiply_positions<T, Shape>(window_, kWindowStride, part * kTile,
                                     SharedPointer<const T>(position_query_),
                                     SharedPointer<const T>(relative_block(tile + part)));
      }
      __syncthreads();  // every warp reads every row of the window
    }
    add_gradients(first_row);
  }

  /// Of the tile's rows. A row that sees nothing gets an infinite denominator: its weights are 0.
  __device__ __forceinline__ void load_statistics(int first_row) {
    const int64_t at = statistics_at(params_, place_);
    const GlobalPointer<const float> lse = global<const float>(params_.lse) + at;
    const GlobalPointer<const float> products =
        global<const float>(launch_.params.workspace) + (launch_.workspace.row_products + at);
    for (int i = static_cast<int>(threadIdx.x); i < kTile; i += Shape::kThreads) {
      const RowMask mask = row_mask(params_, place_, first_row + i);
      lse_[i] = mask.is_active ? lse[first_row + i] * kLog2E : INFINITY;
      product_[i] = mask.is_active ? products[first_row + i] : 0.0f;
      segment_[i] = mask.segment;
    }
  }

  __device__ __forceinline__ void add_gradients(int first_row) {
    typename Shape::Scores weights;
    typename Shape::Scores grads;
    clear(weights);
    clear(grads);
    const int own = warp_index() * 16;
    multiply_transposed<T, Shape::kWidth>(
        weights, SharedPointer<const T>(key_) + own * Shape::kStride, Shape::kStride,
        SharedPointer<const T>(content_query_), Shape::kStride);
    multiply_transposed<T, Shape::kWidth>(
        grads, SharedPointer<const T>(value_) + own * Shape::kStride, Shape::kStride,
        SharedPointer<const T>(grad_out_), Shape::kStride);
    const float scale = rsqrtf(static_cast<float>(Shape::kWidth));
    const bool has_positions = params_.relative.data != nullptr;
    const bool has_segments = params_.key_segment.data != nullptr;
    // A row sees a key from this distance on.
    const int causal_limit = params_.is_causal
                                 ? first_row + static_cast<int>(params_.causal_offset) - first_key()
                                 : 2 * kTile;
#pragma unroll
    for (int half = 0; half < 2; ++half) {  // the two keys of this lane
      const int key = own + accumulator_row(half * 2);
      const bool is_real = (bits_ >> key & 1) != 0;
      const int64_t segment = has_segments && is_real ? key_segment(first_key() + key) : 0;
#pragma unroll
      for (int n = 0; n < Shape::kScoreCount; ++n) {
#pragma unroll
        for (int e = half * 2; e < half * 2 + 2; ++e) {
          const int row = n * 8 + accumulator_column(e);
          float score = weights[n].c[e];
          if (has_positions) score += window_[row * (kWindowStride + 1) - key + kTile - 1];
          bool visible = is_real && key <= row + causal_limit;
          if (has_segments) visible = visible && segment_[row] == segment;
          const float weight = visible ? exp2f(score * (scale * kLog2E) - lse_[row]) : 0.0f;
          weights[n].c[e] = weight;
          grads[n].c[e] = weight * (grads[n].c[e] - product_[row]) * scale;
        }
      }
    }
    multiply_accumulators<T>(grad_value_, weights, SharedPointer<const T>(grad_out_),
                             Shape::kStride);
    multiply_accumulators<T>(grad_key_, grads, SharedPointer<const T>(content_query_),
                             Shape::kStride);
  }

  __device__ __forceinline__ int64_t key_segment(int key) const {
    return rows_at(params_.key_segment, place_, 0)[key * params_.key_segment.row_stride];
  }

  __device__ __forceinline__ void finish() {
    wait_for_copies<0>();
    __syncthreads();
    const int count = end_key() - first_key();
    const auto& key_view = launch_.params.grad_key;
    const auto& value_view = launch_.params.grad_value;
    store_features<T, Shape>(
        grad_key_, 1.0f, 1.0f, key_,
        rows_at(key_view, place_, key_head_) + first_key() * key_view.row_stride,
        key_view.row_stride, count);
    store_features<T, Shape>(
        grad_value_, 1.0f, 1.0f, value_,
        rows_at(value_view, place_, key_head_) + first_key() * value_view.row_stride,
        value_view.row_stride, count);
  }

  const AttentionBackwardLaunch<T>& launch_;
  const AttentionParams<T>& params_;
  AttentionPlace place_{};
  int64_t key_head_;
  int tile_;
  SharedPointer<T> key_, value_, content_query_, position_query_, grad_out_, relative_;
  SharedPointer<float> window_, lse_, product_;
  SharedPointer<int64_t> segment_;
  uint64_t bits_ = 0;
  typename Shape::Features grad_key_;
  typename Shape::Features grad_value_;
};

template <typename T, int kWidth, int kTile>
__global__ void __launch_bounds__(TileShape<T, kWidth, kTile>::kThreads)
    relative_attention_backward_key(const AttentionBackwardLaunch<T> launch) {
  AttentionBackwardKey<T, TileShape<T, kWidth, kTile>>(launch).run();
}

}  // namespace retro::kernels
