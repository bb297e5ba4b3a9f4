// Gradients of queries, relative rows and biases.
//
// A block works on one head and walks through every slices-th (item, tile of queries) of it. For a
// tile it recomputes weights and forms dS, tile of keys by tile of keys. The pairs (i, j) of one
// period map one to one to the pairs (i, distance), so dS goes to the window of position scores,
// into the place its own score was read from. When a block of distances leaves the window its dS
// are complete: grad_query += dS relative, and grad_relative += dS^T (q + b_v), added to a partial
// sum in global memory that belongs to this block of threads alone. No atomics; the slices are
// added in order afterwards.
#pragma once

#include "kernels/attention_tiles.cuh"

namespace retro::kernels {

/// Where the partial sums lie in the workspace, in floats.
struct AttentionWorkspace {
  int64_t row_products = 0;  ///< [batches, chunks, heads, rows]: grad_out . out
  int64_t relative = 0;      ///< [slices, heads, distances, width]
  int64_t distance = 0;      ///< [slices, heads, distances]: sums of dS by distance
  int64_t query = 0;         ///< [slices, heads, width]: sums of grad_query over rows
  int64_t total = 0;
};

template <typename T>
struct AttentionBackwardLaunch {
  AttentionBackwardParams<T> params;
  AttentionWorkspace workspace;
  int query_tiles;
  int key_tiles;  ///< of an item
  int tiles_per_period;
};

template <typename T, typename Shape>
class AttentionBackwardQuery {
 public:
  static constexpr int kTile = Shape::kTile;
  static constexpr int kColumns = kWindowColumns<kTile>;
  static constexpr int kWindowStride = window_stride(kColumns);
  static constexpr int64_t kSharedBytes =
      7 * Shape::kBytes + int64_t{kTile} * kWindowStride * static_cast<int64_t>(sizeof(float));

  __device__ __forceinline__ explicit AttentionBackwardQuery(
      const AttentionBackwardLaunch<T>& launch)
      : launch_(launch), params_(launch.params.forward) {
    head_ = blockIdx.x % params_.heads;
    slice_ = blockIdx.x / params_.heads;
    content_query_ = dynamic_shared<T>();
    position_query_ = dynamic_shared<T>(Shape::kBytes);
    grad_out_ = dynamic_shared<T>(2 * Shape::kBytes);
    key_ = dynamic_shared<T>(3 * Shape::kBytes);
    value_ = dynamic_shared<T>(4 * Shape::kBytes);
    relative_ = dynamic_shared<T>(5 * Shape::kBytes);  // two tiles: blocks of distances by parity
    window_ = dynamic_shared<float>(7 * Shape::kBytes);
    const GlobalPointer<float> workspace = global(launch.params.workspace);
    const int64_t own = slice_ * params_.heads + head_;
    partial_relative_ =
        workspace + (launch.workspace.relative + own * params_.distances * Shape::kWidth);
    partial_distance_ = workspace + (launch.workspace.distance + own * params_.distances);
    partial_query_ = workspace + (launch.workspace.query + own * Shape::kWidth);
  }

  __device__ __forceinline__ void run() {
    clear_partial_sums();
    const int64_t units = params_.batches * params_.chunks * launch_.query_tiles;
    for (int64_t unit = slice_; unit < units; unit += launch_.params.slices) {
      place_ = place_of(params_, unit / launch_.query_tiles, head_);
      first_row_ = static_cast<int>(unit % launch_.query_tiles) * kTile;
      if (first_row_ < place_.num_rows) run_tile();
    }
  }

 private:
  __device__ __forceinline__ bool has_positions() const { return params_.relative.data != nullptr; }
  __device__ __forceinline__ static int own_row(int half) {
    return warp_index() * 16 + accumulator_row(half * 2);
  }
  __device__ __forceinline__ int period() const {
    return static_cast<int>(params_.key_period > 0 ? params_.key_period : params_.keys);
  }
  __device__ __forceinline__ SharedPointer<T> relative_block(int block) const {
    return relative_ + (block & 1) * Shape::kElements;
  }
  __device__ __forceinline__ static int column_of(int block) { return (block & 1) * kTile; }
  /// Row of `relative` that block 0 begins with.
  __device__ __forceinline__ int64_t first_distance_row() const {
    return first_row_ + params_.distance_offset - params_.first_distance - (kTile - 1);
  }

  __device__ __forceinline__ void clear_partial_sums() {
    const int thread = static_cast<int>(threadIdx.x);
    const int64_t count = has_positions() ? params_.distances : 0;
    for (int64_t i = thread; i < count * Shape::kWidth; i += Shape::kThreads) {
      partial_relative_[i] = 0.0f;
    }
    for (int64_t i = thread; i < count; i += Shape::kThreads) partial_distance_[i] = 0.0f;
    for (int i = thread; i < Shape::kWidth; i += Shape::kThreads) partial_query_[i] = 0.0f;
  }

  __device__ __forceinline__ void run_tile() {
    __syncthreads();  // the tile before has left shared memory
    load_queries<T, Shape>(content_query_, position_query_, params_, place_, first_row_);
    const auto& grad_view = launch_.params.grad_out;
    copy_tile<T, Shape>(
        grad_out_, rows_at(grad_view, place_, head_) + first_row_ * grad_view.row_stride,
        grad_view.row_stride, [&](int row) { return first_row_ + row < place_.num_rows; });
    commit_copies();
    const GlobalPointer<const float> lse =
        global<const float>(params_.lse) + statistics_at(params_, place_);
    const GlobalPointer<const float> products =
        global<const float>(launch_.params.workspace) +
        (launch_.workspace.row_products + statistics_at(params_, place_));
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first_row_ + own_row(half);
      mask_[half] = row_mask(params_, place_, row);
      lse_[half] = row < place_.num_rows ? lse[row] * kLog2E : 0.0f;
      product_[half] = row < place_.num_rows ? products[row] : 0.0f;
    }
    clear(grad_query_);
    for (int first = 0; first < static_cast<int>(params_.keys); first += period()) {
      if (!run_period(first)) break;
    }
    finish_tile();
  }

  /// False when this period's first key is beyond the causal limit of every row.
  __device__ __forceinline__ bool run_period(int first_key) {
    const int64_t limit =
        params_.is_causal ? first_row_ + kTile - 1 + params_.causal_offset : params_.keys;
    int tiles = 0;
    while (tiles < launch_.tiles_per_period && first_key + tiles * kTile <= limit) ++tiles;
    if (tiles == 0) return false;
    visited_ = tiles * kTile;
    const int end_key = min(first_key + period(), static_cast<int>(params_.keys));
    for (int tile = 0; tile < tiles; ++tile) {
      if (has_positions() && tile >= 1) retire(1 - tile + 1);
      __syncthreads();  // keys, values and the retired block are used up
      load_keys(first_key + tile * kTile, end_key, tile);
      run_keys(first_key + tile * kTile, tile);
    }
    if (has_positions()) {
      __syncthreads();
      retire(2 - tiles);
      retire(1 - tiles);
    }
    return true;
  }

  __device__ __forceinline__ void load_keys(int key0, int end_key, int tile) {
    const int64_t group = params_.heads / params_.key_heads;
    bits_ = key_bits<T, kTile>(params_, place_, key0, end_key);
    const auto is_real = [&](int row) { return (bits_ >> row & 1) != 0; };
    copy_tile<T, Shape>(key_,
                        rows_at(params_.key, place_, head_ / group) + key0 * params_.key.row_stride,
                        params_.key.row_stride, is_real);
    copy_tile<T, Shape>(
        value_, rows_at(params_.value, place_, head_ / group) + key0 * params_.value.row_stride,
        params_.value.row_stride, is_real);
    if (has_positions()) {
      for (int block = tile == 0 ? 1 : -tile; block >= -tile; --block) {
        copy_relative<T, Shape>(relative_block(block), params_, head_,
                                first_distance_row() + int64_t{block} * kTile);
      }
    }
    commit_copies();
    wait_for_copies<0>();
    __syncthreads();
    if (has_positions()) {
      for (int block = tile == 0 ? 1 : -tile; block >= -tile; --block) {
        multiply_positions<T, Shape>(window_, kWindowStride, column_of(block),
                                     SharedPointer<const T>(position_query_),
                                     SharedPointer<const T>(relative_block(block)));
        clear_unvisited(block);
      }
      __syncwarp();  // a row of the window is read by the warp that wrote it
    }
  }

  /// Cells of no key among those visited hold 0 from the start: no pair will overwrite them.
  __device__ __forceinline__ void clear_unvisited(int block) {
    const bool all_visited = block <= 0 && (2 - block) * kTile - 2 < visited_;
    if (all_visited) return;
    __syncwarp();
    for (int index = lane_index(); index < 16 * kTile; index += kWarpSize) {
      const int row = warp_index() * 16 + index / kTile;
      const int key = row + kTile - 1 - (block * kTile + index % kTile);
      if (key < 0 || key >= visited_) {
        window_[row * kWindowStride + column_of(block) + index % kTile] = 0.0f;
      }
    }
  }

  __device__ __forceinline__ void run_keys(int key0, int tile) {
    typename Shape::Scores scores;
    typename Shape::Scores grads;
    clear(scores);
    clear(grads);
    const int own = warp_index() * 16 * Shape::kStride;
    multiply_transposed<T, Shape::kWidth>(scores, SharedPointer<const T>(content_query_) + own,
                                          Shape::kStride, SharedPointer<const T>(key_),
                                          Shape::kStride);
    multiply_transposed<T, Shape::kWidth>(grads, SharedPointer<const T>(grad_out_) + own,
                                          Shape::kStride, SharedPointer<const T>(value_),
                                          Shape::kStride);
    const float scale = rsqrtf(static_cast<float>(Shape::kWidth));
#pragma unroll
    for (int n = 0; n < Shape::kScoreCount; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int half = e / 2;
        const int row = own_row(half);
        const int column = n * 8 + accumulator_column(e);
        const int cell =
            row * kWindowStride + ((row - column + kTile - 1 - tile * kTile) & (kColumns - 1));
        float score = scores[n].c[e];
        if (has_positions()) score += window_[cell];
        const bool visible = sees(mask_[half], key0 + column, bits_, column) &&
                             same_segment(params_, place_, mask_[half], key0 + column);
        const float weight = visible ? exp2f(score * (scale * kLog2E) - lse_[half]) : 0.0f;
        scores[n].c[e] = weight * (grads[n].c[e] - product_[half]) * scale;
        if (has_positions()) window_[cell] = scores[n].c[e];
      }
    }
    multiply_accumulators<T>(grad_query_, scores, SharedPointer<const T>(key_), Shape::kStride);
  }

  /// A block of distances is complete. Called by all; begins after a barrier's worth of work: the
  /// cells of other warps' rows are read.
  __device__ __forceinline__ void retire(int block) {
    __syncthreads();
    const SharedPointer<const float> cells = window_ + column_of(block);
    const int own = warp_index() * 16;
#pragma unroll 1
    for (int k = 0; k < kTile; k += 16) {
      const FragmentA<T> left =
          load_a_floats<T>(cells + (own * kWindowStride + k), kWindowStride, 1);
#pragma unroll
      for (int n = 0; n < Shape::kWidthCount; n += 2) {
        multiply_add(
            grad_query_[n], grad_query_[n + 1], left,
            load_b(SharedPointer<const T>(relative_block(block)) + (k * Shape::kStride + n * 8),
                   Shape::kStride));
      }
    }
    add_relative(cells, first_distance_row() + int64_t{block} * kTile);
  }

  /// grad_relative of the block's 16 rows that fall to this warp, in two halves of the features to
  /// keep registers free.
  __device__ __forceinline__ void add_relative(SharedPointer<const float> cells, int64_t first) {
    const int own = warp_index() * 16;
    constexpr int kHalf = Shape::kWidthCount / 2;
#pragma unroll 1
    for (int part = 0; part < 2; ++part) {
      Accumulator sums[kHalf];
      clear(sums);
#pragma unroll 1
      for (int k = 0; k < kTile; k += 16) {
        const FragmentA<T> left =
            load_a_floats<T>(cells + (k * kWindowStride + own), 1, kWindowStride);
#pragma unroll
        for (int n = 0; n < kHalf; n += 2) {
          multiply_add(sums[n], sums[n + 1], left,
                       load_b(SharedPointer<const T>(position_query_) +
                                  (k * Shape::kStride + (part * kHalf + n) * 8),
                              Shape::kStride));
        }
      }
#pragma unroll
      for (int n = 0; n < kHalf; ++n) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int64_t row = first + own + accumulator_row(half * 2);
          if (row < 0 || row >= params_.distances) continue;
          const GlobalPointer<float> to =
              partial_relative_ +
              (row * Shape::kWidth + (part * kHalf + n) * 8 + accumulator_column(0));
          const auto old = load_as<float2>(to);
          store_as(to, make_float2(old.x + sums[n].c[half * 2], old.y + sums[n].c[half * 2 + 1]));
        }
      }
    }
    for (int column = static_cast<int>(threadIdx.x); column < kTile; column += Shape::kThreads) {
      const int64_t row = first + column;
      if (row < 0 || row >= params_.distances) continue;
      float sum = 0.0f;
      for (int i = 0; i < kTile; ++i) sum += cells[i * kWindowStride + column];
      partial_distance_[row] += sum;
    }
  }

  /// grad_query goes out, and its sum over rows to the partial sum of the biases.
  __device__ __forceinline__ void finish_tile() {
    wait_for_copies<0>();  // where no key is visible, nothing has waited for grad_out
    __syncthreads();
    const auto& view = launch_.params.grad_query;
    store_features<T, Shape>(grad_query_, 1.0f, 1.0f, content_query_,
                             rows_at(view, place_, head_) + first_row_ * view.row_stride,
                             view.row_stride, place_.num_rows - first_row_);
    // Sums over rows in float32: a warp's 16 by shuffles, the warps' through shared memory.
    const SharedPointer<float> sums = window_;
#pragma unroll
    for (int n = 0; n < Shape::kWidthCount; ++n) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float sum = grad_query_[n].c[e] + grad_query_[n].c[e + 2];
#pragma unroll
        for (int distance = 4; distance < kWarpSize; distance *= 2) {
          sum += __shfl_xor_sync(kWholeWarp, sum, distance);
        }
        if (lane_index() < 4)
          sums[warp_index() * Shape::kWidth + n * 8 + accumulator_column(e)] = sum;
      }
    }
    __syncthreads();
    for (int a = static_cast<int>(threadIdx.x); a < Shape::kWidth; a += Shape::kThreads) {
      float sum = partial_query_[a];
      for (int warp = 0; warp < kTile / 16; ++warp) sum += sums[warp * Shape::kWidth + a];
      partial_query_[a] = sum;
    }
  }

  const AttentionBackwardLaunch<T>& launch_;
  const AttentionParams<T>& params_;
  AttentionPlace place_{};
  int64_t head_, slice_;
  int first_row_ = 0;
  int visited_ = 0;  ///< keys of the current period that tiles cover
  SharedPointer<T> content_query_, position_query_, grad_out_, key_, value_, relative_;
  SharedPointer<float> window_;
  GlobalPointer<float> partial_relative_, partial_distance_, partial_query_;
  uint64_t bits_ = 0;
  RowMask mask_[2];
  float lse_[2];
  float product_[2];
  typename Shape::Features grad_query_;
};

template <typename T, int kWidth, int kTile>
__global__ void __launch_bounds__(TileShape<T, kWidth, kTile>::kThreads)
    relative_attention_backward_query(const AttentionBackwardLaunch<T> launch) {
  AttentionBackwardQuery<T, TileShape<T, kWidth, kTile>>(launch).run();
}

}  // namespace retro::kernels
