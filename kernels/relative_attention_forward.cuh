// The forward kernel: one block a tile of queries of one head; keys stream by in tiles.
//
// Softmax is online in float32. The position term is a second small product: for the pairs of a
// tile only 2 kTile - 1 distances occur, so the scores of position queries against those rows of
// `relative` go into a window in shared memory, from which each pair picks its own. The window is a
// ring: the next tile of keys needs kTile new distances, and the rest is still there. In chunked
// cross-attention, where distances restart at every neighbour, a larger ring keeps all of them.
#pragma once

#include "kernels/attention_tiles.cuh"

namespace retro::kernels {

template <typename T>
struct AttentionForwardLaunch {
  AttentionParams<T> params;
  int query_tiles;
  int tiles_per_period;
  int window_columns;  ///< of the ring: a power of two, at least 2 kTile
  int window_stride;   ///< from one row of the ring to the next
};

/// The blocks of kTile distances that a ring holds, numbered downwards as keys advance.
struct PositionRing {
  int low = 1;
  int high = 0;
  __device__ __forceinline__ bool holds(int block) const { return low <= block && block <= high; }
  __device__ __forceinline__ void add(int block, int capacity) {
    const bool follows = high >= low && block == low - 1;
    high = follows ? min(high, block + capacity - 1) : block;
    low = block;
  }
};

template <typename T, typename Shape>
class AttentionForward {
 public:
  static constexpr int kTile = Shape::kTile;

  __device__ __forceinline__ explicit AttentionForward(const AttentionForwardLaunch<T>& launch)
      : launch_(launch), params_(launch.params) {
    const int64_t index = blockIdx.x;
    // The last tiles of a causal sequence have the most keys: they start first.
    first_row_ = (launch.query_tiles - 1 - static_cast<int>(index % launch.query_tiles)) * kTile;
    const int64_t unit = index / launch.query_tiles;
    place_ = place_of(params_, unit / params_.heads, unit % params_.heads);
    key_head_ = place_.head / (params_.heads / params_.key_heads);
    content_query_ = dynamic_shared<T>();
    position_query_ = dynamic_shared<T>(Shape::kBytes);
    key_ = dynamic_shared<T>(2 * Shape::kBytes);
    value_ = dynamic_shared<T>(3 * Shape::kBytes);
    relative_ = dynamic_shared<T>(4 * Shape::kBytes);
    window_ = dynamic_shared<float>(5 * Shape::kBytes);
    window_stride_ = launch.window_stride;
  }

  __device__ __forceinline__ void run() {
    if (first_row_ >= place_.num_rows) return;  // the last chunk may be shorter
    load_queries<T, Shape>(content_query_, position_query_, params_, place_, first_row_);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      mask_[half] = row_mask(params_, place_, first_row_ + own_row(half));
      largest_[half] = kMinusInfinity;
      total_[half] = 0.0f;
    }
    clear(out_);
    const int num_tiles = count_tiles();
    int tile = next_tile(-1, num_tiles);
    if (tile < num_tiles) start_keys(tile);
    while (tile < num_tiles) tile = attend(tile, num_tiles);
    finish();
  }

 private:
  __device__ __forceinline__ static int own_row(int half) {
    return warp_index() * 16 + accumulator_row(half * 2);
  }
  __device__ __forceinline__ int period() const {
    return static_cast<int>(params_.key_period > 0 ? params_.key_period : params_.keys);
  }
  __device__ __forceinline__ int tile_in_period(int tile) const {
    return tile % launch_.tiles_per_period;
  }
  __device__ __forceinline__ int first_key(int tile) const {
    return tile / launch_.tiles_per_period * period() + tile_in_period(tile) * kTile;
  }
  __device__ __forceinline__ int end_key(int tile) const {
    return min((tile / launch_.tiles_per_period + 1) * period(), static_cast<int>(params_.keys));
  }
  /// Tiles up to the last key that a row of this block may see.
  __device__ __forceinline__ int count_tiles() const {
    int tiles = period() == 0 ? 0
                              : static_cast<int>((params_.keys + period() - 1) / period()) *
                                    launch_.tiles_per_period;
    const int64_t last = first_row_ + kTile - 1 + params_.causal_offset;
    while (params_.is_causal && tiles > 0 && first_key(tiles - 1) > last) --tiles;
    return tiles;
  }
  /// The next tile with a real key, its bits in key_bits_: missing neighbours cost nothing.
  __device__ __forceinline__ int next_tile(int tile, int num_tiles) {
    for (++tile; tile < num_tiles; ++tile) {
      next_bits_ = key_bits<T, kTile>(params_, place_, first_key(tile), end_key(tile));
      if (next_bits_ != 0) break;
    }
    return tile;
  }

  __device__ __forceinline__ void start_keys(int tile) {
    const uint64_t bits = next_bits_;
    copy_tile<T, Shape>(
        key_, rows_at(params_.key, place_, key_head_) + first_key(tile) * params_.key.row_stride,
        params_.key.row_stride, [&](int row) { return (bits >> row & 1) != 0; });
    const int block = -tile_in_period(tile);
    if (params_.relative.data != nullptr && ring_.holds(block + 1) && !ring_.holds(block)) {
      start_relative(block);
      prefetched_block_ = block;
    }
    commit_copies();
  }
  __device__ __forceinline__ void start_relative(int block) {
    const int64_t base =
        first_row_ + params_.distance_offset - params_.first_distance - (kTile - 1);
    copy_relative<T, Shape>(relative_, params_, place_.head, base + int64_t{block} * kTile);
  }
  __device__ __forceinline__ void start_values(int tile, uint64_t bits) {
    copy_tile<T, Shape>(
        value_,
        rows_at(params_.value, place_, key_head_) + first_key(tile) * params_.value.row_stride,
        params_.value.row_stride, [&](int row) { return (bits >> row & 1) != 0; });
    commit_copies();
  }

  /// One tile of keys. Its values arrive while scores are formed, the next tile's keys while the
  /// values are used.
  __device__ __forceinline__ int attend(int tile, int num_tiles) {
    const uint64_t bits = next_bits_;
    wait_for_copies<0>();
    __syncthreads();  // keys and queries are there; nobody reads the previous values any more
    start_values(tile, bits);
    if (params_.relative.data != nullptr) add_positions(tile_in_period(tile));
    typename Shape::Scores scores;
    clear(scores);
    multiply_transposed<T, Shape::kWidth>(
        scores, SharedPointer<const T>(content_query_) + warp_index() * 16 * Shape::kStride,
        Shape::kStride, SharedPointer<const T>(key_), Shape::kStride);
    __syncthreads();  // keys are used up
    const int next = next_tile(tile, num_tiles);
    if (next < num_tiles) {
      start_keys(next);
    } else {
      commit_copies();  // an empty group keeps the count below
    }
    weigh(scores, tile, bits);
    wait_for_copies<1>();
    __syncthreads();  // values are there
    multiply_accumulators<T>(out_, scores, SharedPointer<const T>(value_), Shape::kStride);
    return next;
  }

  /// Makes the ring hold the two blocks of distances of a tile. In the steady state one is new, and
  /// its rows came with the keys. The caller's barrier makes the scores visible.
  __device__ __forceinline__ void add_positions(int tile) {
    for (int block = 1 - tile; block >= -tile; --block) {
      if (ring_.holds(block)) continue;
      ring_.add(block, launch_.window_columns / kTile);
      if (block != prefetched_block_) {
        __syncthreads();  // the block before is used up
        start_relative(block);
        commit_copies();
        wait_for_copies<0>();
        __syncthreads();
      }
      prefetched_block_ = kNoBlock;
      multiply_positions<T, Shape>(
          window_, window_stride_, (block * kTile) & (launch_.window_columns - 1),
          SharedPointer<const T>(position_query_), SharedPointer<const T>(relative_));
    }
  }

  /// Scores become weights; the sums so far are rescaled to the new maximum.
  __device__ __forceinline__ void weigh(typename Shape::Scores& scores, int tile, uint64_t bits) {
    const float scale = kLog2E * rsqrtf(static_cast<float>(Shape::kWidth));
    const int key0 = first_key(tile);
    const int column_shift = kTile - 1 - tile_in_period(tile) * kTile;
    const bool has_positions = params_.relative.data != nullptr;
    const bool has_segments = params_.key_segment.data != nullptr;
    float largest[2] = {largest_[0], largest_[1]};
#pragma unroll
    for (int n = 0; n < Shape::kScoreCount; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int half = e / 2;
        const int column = n * 8 + accumulator_column(e);
        float& score = scores[n].c[e];
        if (has_positions) {
          const int row = own_row(half);
          const int place = (row - column + column_shift) & (launch_.window_columns - 1);
          score += window_[row * window_stride_ + place];
        }
        bool visible = sees(mask_[half], key0 + column, bits, column);
        if (has_segments && visible) {
          visible = same_segment(params_, place_, mask_[half], key0 + column);
        }
        score = visible ? score * scale : kMinusInfinity;
        largest[half] = fmaxf(largest[half], score);
      }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      largest[half] = quad_max(largest[half]);
      // A row that has seen no key keeps its -infinity; 0 in its place avoids inf - inf.
      const float shift = largest[half] == kMinusInfinity ? 0.0f : largest[half];
      const float rescale = exp2f(largest_[half] - shift);
      largest_[half] = largest[half];
      total_[half] *= rescale;
#pragma unroll
      for (int n = 0; n < Shape::kScoreCount; ++n) {
#pragma unroll
        for (int e = half * 2; e < half * 2 + 2; ++e) {
          scores[n].c[e] = exp2f(scores[n].c[e] - shift);
          total_[half] += scores[n].c[e];
        }
      }
#pragma unroll
      for (int n = 0; n < Shape::kWidthCount; ++n) {
        out_[n].c[half * 2] *= rescale;
        out_[n].c[half * 2 + 1] *= rescale;
      }
    }
  }

  __device__ __forceinline__ void finish() {
    __syncthreads();  // where there was no key, the queries' writers have not met their readers yet
    const GlobalPointer<float> lse = global(params_.lse) + statistics_at(params_, place_);
    float inverse[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float total = quad_sum(total_[half]);
      inverse[half] = total > 0.0f ? 1.0f / total : 0.0f;
      const int row = first_row_ + own_row(half);
      if (lane_index() % 4 == 0 && row < place_.num_rows) {
        lse[row] = total > 0.0f ? (largest_[half] + log2f(total)) / kLog2E : kMinusInfinity;
      }
    }
    // A warp's own rows of the query tile are nobody else's.
    store_features<T, Shape>(
        out_, inverse[0], inverse[1], content_query_,
        rows_at(params_.out, place_, place_.head) + first_row_ * params_.out.row_stride,
        params_.out.row_stride, place_.num_rows - first_row_);
  }

  const AttentionForwardLaunch<T>& launch_;
  const AttentionParams<T>& params_;
  AttentionPlace place_;
  int64_t key_head_;
  int first_row_;
  SharedPointer<T> content_query_, position_query_, key_, value_, relative_;
  SharedPointer<float> window_;
  int window_stride_;
  static constexpr int kNoBlock = 1 << 30;
  PositionRing ring_;
  int prefetched_block_ = kNoBlock;
  uint64_t next_bits_ = 0;
  RowMask mask_[2];
  float largest_[2];
  float total_[2];
  typename Shape::Features out_;
};

template <typename T, int kWidth, int kTile>
__global__ void __launch_bounds__(TileShape<T, kWidth, kTile>::kThreads)
    relative_attention_forward(const AttentionForwardLaunch<T> launch) {
  AttentionForward<T, TileShape<T, kWidth, kTile>>(launch).run();
}

}  // namespace retro::kernels
