// Pieces that the attention kernels share. A block has kTile / 16 warps; a warp owns 16 rows.
#pragma once

#include "kernels/mma.cuh"
#include "kernels/relative_attention.h"

namespace retro::kernels {

/// Sizes of a tile of kTile rows of kWidth features in shared memory.
template <typename T, int kWidthOfHead, int kTileRows>
struct TileShape {
  static constexpr int kWidth = kWidthOfHead;
  static constexpr int kTile = kTileRows;
  static constexpr int kThreads = kTile / 16 * kWarpSize;
  static constexpr int kStride = padded<T>(kWidth);
  static constexpr int kElements = kTile * kStride;
  static constexpr int kBytes = kElements * static_cast<int>(sizeof(T));
  /// 16 x 8 accumulators across a tile of scores and across the features.
  static constexpr int kScoreCount = kTile / 8;
  static constexpr int kWidthCount = kWidth / 8;
  using Scores = Accumulator[kScoreCount];
  using Features = Accumulator[kWidthCount];
};

inline constexpr float kLog2E = 1.4426950408889634f;
inline constexpr float kMinusInfinity = -INFINITY;

/// Which item, head and tile a block works on.
struct AttentionPlace {
  int64_t batch;
  int64_t chunk;
  int64_t head;
  int num_rows;  ///< of this item
};

template <typename T>
__device__ __forceinline__ AttentionPlace place_of(const AttentionParams<T>& params, int64_t item,
                                                   int64_t head) {
  const int64_t chunk = item % params.chunks;
  return {item / params.chunks, chunk, head,
          static_cast<int>(chunk + 1 == params.chunks ? params.last_rows : params.rows)};
}

template <typename T>
__device__ __forceinline__ GlobalPointer<T> rows_at(const AttentionView<T>& view,
                                                    const AttentionPlace& place, int64_t head) {
  return global(view.data) + (place.batch * view.batch_stride + place.chunk * view.chunk_stride +
                              head * view.head_stride);
}

/// Index of (item, head, row 0) in the row statistics [batches, chunks, heads, rows].
template <typename T>
__device__ __forceinline__ int64_t statistics_at(const AttentionParams<T>& params,
                                                 const AttentionPlace& place) {
  return ((place.batch * params.chunks + place.chunk) * params.heads + place.head) * params.rows;
}

__device__ __forceinline__ int warp_index() { return static_cast<int>(threadIdx.x) / kWarpSize; }

/// Starts copying rows to a tile. Rows for which is_present is false become zeros and are not read:
/// that is how whatever stands in a masked key (NaN included) is kept out of every product.
template <typename T, typename Shape, typename IsPresent>
__device__ __forceinline__ void copy_tile(SharedPointer<T> tile, GlobalPointer<const T> rows,
                                          int64_t row_stride, const IsPresent& is_present) {
  constexpr int kVectors = Shape::kWidth / kVectorWidth<T>;
  for (int index = static_cast<int>(threadIdx.x); index < Shape::kTile * kVectors;
       index += Shape::kThreads) {
    const int row = index / kVectors;
    const int column = index % kVectors * kVectorWidth<T>;
    const bool present = is_present(row);
    copy_16_bytes<T>(tile + (row * Shape::kStride + column),
                     rows + (present ? row * row_stride + column : 0), present);
  }
}

/// Writes q + b_u and q + b_v of a tile of queries, each rounded once; rows from num_rows on are 0.
template <typename T, typename Shape>
__device__ __forceinline__ void load_queries(SharedPointer<T> content, SharedPointer<T> position,
                                             const AttentionParams<T>& params,
                                             const AttentionPlace& place, int first_row) {
  constexpr int kVectors = Shape::kWidth / kVectorWidth<T>;
  const GlobalPointer<const T> query = rows_at(params.query, place, place.head);
  const GlobalPointer<const float> content_bias = rows_at(params.content_bias, place, place.head);
  const GlobalPointer<const float> position_bias = rows_at(params.position_bias, place, place.head);
  for (int index = static_cast<int>(threadIdx.x); index < Shape::kTile * kVectors;
       index += Shape::kThreads) {
    const int row = index / kVectors;
    const int column = index % kVectors * kVectorWidth<T>;
    FloatVector<T> q{};
    FloatVector<T> p{};
    if (first_row + row < place.num_rows) {
      q = load_vector<T>(query + ((first_row + row) * params.query.row_stride + column));
#pragma unroll
      for (int i = 0; i < kVectorWidth<T>; ++i) {
        p.values[i] = q.values[i];
        if (params.content_bias.data != nullptr) q.values[i] += content_bias[column + i];
        if (params.position_bias.data != nullptr) p.values[i] += position_bias[column + i];
      }
    }
    store_vector<T>(content + (row * Shape::kStride + column), q);
    store_vector<T>(position + (row * Shape::kStride + column), p);
  }
}

/// Which keys of a tile exist and are real: bit c of `bits`. Every warp forms them for itself from
/// two loads a lane, so that they cost neither shared memory nor a barrier.
template <typename T, int kTile>
__device__ __forceinline__ uint64_t key_bits(const AttentionParams<T>& params,
                                             const AttentionPlace& place, int first_key,
                                             int end_key) {
  const GlobalPointer<const bool> is_real = rows_at(params.key_is_real, place, 0);
  uint64_t bits = 0;
#pragma unroll
  for (int part = 0; part < kTile; part += kWarpSize) {
    const int key = first_key + part + lane_index();
    const bool visible = key < end_key && (params.key_is_real.data == nullptr ||
                                           is_real[key * params.key_is_real.row_stride]);
    bits |= static_cast<uint64_t>(__ballot_sync(kWholeWarp, visible)) << part;
  }
  return bits;
}

/// What decides whether a row sees a key.
struct RowMask {
  int last_key;    ///< the causal limit
  bool is_active;  ///< false: sees nothing
  int64_t segment;
};

template <typename T>
__device__ __forceinline__ RowMask row_mask(const AttentionParams<T>& params,
                                            const AttentionPlace& place, int row) {
  RowMask mask{};
  mask.last_key = params.is_causal ? row + static_cast<int>(params.causal_offset)
                                   : static_cast<int>(params.keys);
  mask.is_active = row < place.num_rows;
  if (mask.is_active && params.row_is_active.data != nullptr) {
    mask.is_active = rows_at(params.row_is_active, place, 0)[row * params.row_is_active.row_stride];
  }
  if (mask.is_active && params.query_segment.data != nullptr) {
    mask.segment = rows_at(params.query_segment, place, 0)[row * params.query_segment.row_stride];
  }
  return mask;
}

__device__ __forceinline__ bool sees(const RowMask& mask, int key, uint64_t bits, int column) {
  return mask.is_active && key <= mask.last_key && (bits >> column & 1) != 0;
}

/// Segment of a key, or the row's own where there are no segments.
template <typename T>
__device__ __forceinline__ bool same_segment(const AttentionParams<T>& params,
                                             const AttentionPlace& place, const RowMask& mask,
                                             int key) {
  return params.key_segment.data == nullptr ||
         rows_at(params.key_segment, place, 0)[key * params.key_segment.row_stride] == mask.segment;
}

/// Columns of the window of position scores: two tiles. A pair (i, j) of a tile has the distance of
/// column i - j + kTile - 1.
template <int kTile>
inline constexpr int kWindowColumns = 2 * kTile;
/// Padded by 8 floats: the four lanes of a row read neighbouring columns, and rows of a fragment
/// start 9 banks further (a pair's column moves with its row).
constexpr int window_stride(int columns) { return columns + 8; }

/// window[row][first_column + c] = position query . relative row c, for this warp's 16 rows.
template <typename T, typename Shape>
__device__ __forceinline__ void multiply_positions(SharedPointer<float> window, int stride,
                                                   int first_column,
                                                   SharedPointer<const T> position_query,
                                                   SharedPointer<const T> relative) {
  typename Shape::Scores scores;
  clear(scores);
  const int first_row = warp_index() * 16;
  multiply_transposed<T, Shape::kWidth>(scores, position_query + first_row * Shape::kStride,
                                        Shape::kStride, relative, Shape::kStride);
#pragma unroll
  for (int n = 0; n < Shape::kScoreCount; ++n) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first_row + accumulator_row(half * 2);
      const int column = first_column + n * 8 + accumulator_column(0);
      store_as(window + (row * stride + column),
               make_float2(scores[n].c[half * 2], scores[n].c[half * 2 + 1]));
    }
  }
}

/// Starts copying kTile rows of `relative` from distance row `first` on; rows outside are zeros.
template <typename T, typename Shape>
__device__ __forceinline__ void copy_relative(SharedPointer<T> tile,
                                              const AttentionParams<T>& params, int64_t head,
                                              int64_t first) {
  const GlobalPointer<const T> rows =
      global(params.relative.data) +
      (head * params.relative.head_stride + first * params.relative.row_stride);
  copy_tile<T, Shape>(tile, rows, params.relative.row_stride,
                      [&](int row) { return first + row >= 0 && first + row < params.distances; });
}

/// Writes this warp's 16 rows of features * scale (upper and lower row's) as T: through its own
/// rows of a tile in shared memory, so that global memory is written in whole 16-byte vectors.
template <typename T, typename Shape>
__device__ __forceinline__ void store_features(const Accumulator (&features)[Shape::kWidthCount],
                                               float upper_scale, float lower_scale,
                                               SharedPointer<T> tile, GlobalPointer<T> rows,
                                               int64_t row_stride, int num_rows) {
  const int first_row = warp_index() * 16;
  __syncwarp();
#pragma unroll
  for (int n = 0; n < Shape::kWidthCount; ++n) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      tile[(first_row + accumulator_row(e)) * Shape::kStride + n * 8 + accumulator_column(e)] =
          from_float<T>(features[n].c[e] * (e < 2 ? upper_scale : lower_scale));
    }
  }
  __syncwarp();
  constexpr int kVectors = Shape::kWidth / kVectorWidth<T>;
  for (int index = lane_index(); index < 16 * kVectors; index += kWarpSize) {
    const int row = first_row + index / kVectors;
    const int column = index % kVectors * kVectorWidth<T>;
    if (row < num_rows) {
      store_as(rows + (row * row_stride + column),
               load_as<uint4>(tile + (row * Shape::kStride + column)));
    }
  }
}

}  // namespace retro::kernels
