// The forward's launcher for one element type.
#pragma once

#include <algorithm>

#include "kernels/attention_launch.cuh"
#include "kernels/relative_attention_forward.cuh"

namespace retro::kernels {

/// 64 queries against 64 keys in bfloat16. float32 has twice the bytes and no tensor cores: 32, so
/// that two blocks of the widest head fit a multiprocessor.
template <typename T>
inline constexpr int kForwardTile = sizeof(T) == 2 ? 64 : 32;

/// Five tiles and a ring of `columns`; 0 columns: no positions.
template <typename Shape>
constexpr size_t forward_shared_bytes(int columns) {
  const int floats = columns == 0 ? 0 : Shape::kTile * window_stride(columns);
  return static_cast<size_t>(5 * Shape::kBytes) + static_cast<size_t>(floats) * sizeof(float);
}

/// All distances of a period stay in the ring where there are several periods, it is small and the
/// device has room for it. Otherwise two tiles stay and the rest is formed again in every period,
/// to the same values.
template <typename Shape, typename T>
int forward_ring_columns(const AttentionParams<T>& params, int tiles_per_period) {
  constexpr int kLargest = 4 * Shape::kTile;
  const bool has_periods = params.keys > attention_period(params);
  const bool is_useful =
      has_periods && tiles_per_period > 1 && (tiles_per_period + 1) * Shape::kTile <= kLargest;
  return is_useful && forward_shared_bytes<Shape>(kLargest) <= largest_shared_bytes()
             ? kLargest
             : 2 * Shape::kTile;
}

template <typename Shape, typename T>
void launch_forward_of(const AttentionParams<T>& params, StreamHandle stream) {
  const int64_t query_tiles = tiles_of(std::max(params.rows, params.last_rows), Shape::kTile);
  const int64_t blocks = params.batches * params.chunks * params.heads * query_tiles;
  if (blocks == 0) return;
  const int tiles_per_period =
      std::max(1, static_cast<int>(tiles_of(attention_period(params), Shape::kTile)));
  const int columns = forward_ring_columns<Shape>(params, tiles_per_period);
  const size_t bytes = forward_shared_bytes<Shape>(params.relative.data == nullptr ? 0 : columns);
  check_shared_bytes<T>("forward", Shape::kWidth, bytes);
  launch(&relative_attention_forward<T, Shape::kWidth, Shape::kTile>,
         dim3(static_cast<unsigned>(blocks)), dim3(Shape::kThreads), bytes, stream,
         AttentionForwardLaunch<T>{params, static_cast<int>(query_tiles), tiles_per_period, columns,
                                   window_stride(columns)});
}

template <typename T>
void launch_relative_attention_forward(const AttentionParams<T>& params, StreamHandle stream) {
  check_attention(params);
  for_width(params.width, [&](auto width) {
    using Shape = TileShape<T, decltype(width)::value, kForwardTile<T>>;
    // The widest head in bfloat16: half the tile where the whole one does not fit.
    if constexpr (forward_shared_bytes<Shape>(2 * Shape::kTile) > kLeastSharedBytes) {
      using Half = TileShape<T, Shape::kWidth, Shape::kTile / 2>;
      const int columns = params.relative.data == nullptr ? 0 : 2 * Shape::kTile;
      if (forward_shared_bytes<Shape>(columns) > largest_shared_bytes()) {
        return launch_forward_of<Half>(params, stream);
      }
    }
    launch_forward_of<Shape>(params, stream);
  });
}

}  // namespace retro::kernels
