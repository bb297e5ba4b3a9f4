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

/// All distances of a period stay in the ring where that is small and there are several periods.
template <typename T>
int forward_window_columns(const AttentionParams<T>& params, int tiles_per_period) {
  constexpr int kTile = kForwardTile<T>;
  constexpr int kLargest = 4 * kTile;
  const bool has_periods = params.keys > attention_period(params);
  return has_periods && (tiles_per_period + 1) * kTile <= kLargest && tiles_per_period > 1
             ? kLargest
             : 2 * kTile;
}

template <typename T>
void launch_relative_attention_forward(const AttentionParams<T>& params, StreamHandle stream) {
  constexpr int kTile = kForwardTile<T>;
  check_attention(params);
  const int64_t query_tiles = tiles_of(std::max(params.rows, params.last_rows), kTile);
  const int64_t blocks = params.batches * params.chunks * params.heads * query_tiles;
  if (blocks == 0) return;
  const int tiles_per_period =
      std::max(1, static_cast<int>(tiles_of(attention_period(params), kTile)));
  const int columns = forward_window_columns(params, tiles_per_period);
  const AttentionForwardLaunch<T> forward{params, static_cast<int>(query_tiles), tiles_per_period,
                                          columns, window_stride(columns)};
  for_width(params.width, [&](auto width) {
    using Shape = TileShape<T, decltype(width)::value, kTile>;
    const size_t window_floats =
        params.relative.data == nullptr ? 0 : kTile * forward.window_stride;
    launch(&relative_attention_forward<T, Shape::kWidth, kTile>,
           dim3(static_cast<unsigned>(blocks)), dim3(Shape::kThreads),
           5 * Shape::kBytes + window_floats * sizeof(float), stream, forward);
  });
}

}  // namespace retro::kernels
