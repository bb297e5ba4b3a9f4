// The backward's launcher for one element type.
#pragma once

#include <algorithm>

#include "kernels/attention_launch.cuh"
#include "kernels/relative_attention_backward_key.cuh"
#include "kernels/relative_attention_backward_query.cuh"
#include "kernels/relative_attention_backward_sums.cuh"

namespace retro::kernels {

/// Seven tiles and a window must fit shared memory, and two tiles' worth of accumulators the
/// registers: 64 only for narrow heads in bfloat16.
template <typename T>
constexpr int backward_tile(int width) {
  return sizeof(T) == 2 && width <= 64 ? 64 : 32;
}

/// Partial sums of grad_relative: enough blocks for any device, few enough to be small. They follow
/// from the shape, so that results do not depend on the device.
inline int64_t attention_slices(int64_t heads, int64_t units) {
  constexpr int64_t kBlocks = 256;
  return std::clamp(kBlocks / std::max<int64_t>(heads, 1), int64_t{1}, std::max<int64_t>(units, 1));
}

template <typename T>
AttentionBackwardLaunch<T> plan_backward(const AttentionBackwardParams<T>& params) {
  const AttentionParams<T>& p = params.forward;
  const int tile = backward_tile<T>(static_cast<int>(p.width));
  const int64_t period = attention_period(p);
  AttentionBackwardLaunch<T> launch{};
  launch.params = params;
  launch.query_tiles = static_cast<int>(tiles_of(std::max(p.rows, p.last_rows), tile));
  launch.tiles_per_period = std::max(1, static_cast<int>(tiles_of(period, tile)));
  launch.key_tiles =
      period == 0 ? 0 : static_cast<int>(tiles_of(p.keys, period)) * launch.tiles_per_period;
  const int64_t items = p.batches * p.chunks;
  launch.params.slices = attention_slices(p.heads, items * launch.query_tiles);
  const int64_t distances = p.relative.data == nullptr ? 0 : p.distances;
  const int64_t slice_heads = launch.params.slices * p.heads;
  launch.workspace.relative = tiles_of(items * p.heads * p.rows, 4) * 4;
  launch.workspace.distance = launch.workspace.relative + slice_heads * distances * p.width;
  launch.workspace.query = launch.workspace.distance + tiles_of(slice_heads * distances, 4) * 4;
  launch.workspace.total = launch.workspace.query + slice_heads * p.width;
  return launch;
}

template <typename T>
int64_t attention_workspace_floats(const AttentionParams<T>& params) {
  AttentionBackwardParams<T> backward;
  backward.forward = params;
  return plan_backward(backward).workspace.total;
}

/// Before the first launch of several.
template <typename T>
void check_backward(const AttentionBackwardParams<T>& params) {
  check_attention(params.forward);
  check_alignment(params.grad_out, "grad_out");
  check_alignment(params.grad_query, "grad_query");
  check_alignment(params.grad_key, "grad_key");
  check_alignment(params.grad_value, "grad_value");
  for_width(params.forward.width, [](auto width) {
    constexpr int kWidth = decltype(width)::value;
    using Shape = TileShape<T, kWidth, backward_tile<T>(kWidth)>;
    constexpr int64_t kBytes = std::max(AttentionBackwardQuery<T, Shape>::kSharedBytes,
                                        AttentionBackwardKey<T, Shape>::kSharedBytes);
    check_shared_bytes<T>("backward", kWidth, static_cast<size_t>(kBytes));
  });
}

template <typename T>
void launch_relative_attention_backward(const AttentionBackwardParams<T>& params,
                                        StreamHandle stream) {
  check_backward(params);
  const AttentionBackwardLaunch<T> plan = plan_backward(params);
  const AttentionParams<T>& p = params.forward;
  const auto count = [](int64_t blocks) { return dim3(static_cast<unsigned>(blocks)); };
  const int64_t items = p.batches * p.chunks;
  const int64_t rows = items * p.heads * p.rows;
  if (rows > 0) {
    launch(&attention_row_products<T>, count(tiles_of(rows, kSumThreads / 32)), dim3(kSumThreads),
           0, stream, plan);
  }
  for_width(p.width, [&](auto width) {
    constexpr int kWidth = decltype(width)::value;
    using Shape = TileShape<T, kWidth, backward_tile<T>(kWidth)>;
    launch(&relative_attention_backward_query<T, kWidth, Shape::kTile>,
           count(plan.params.slices * p.heads), dim3(Shape::kThreads),
           AttentionBackwardQuery<T, Shape>::kSharedBytes, stream, plan);
    const int64_t key_blocks = items * p.key_heads * plan.key_tiles;
    if (key_blocks == 0) return;
    launch(&relative_attention_backward_key<T, kWidth, Shape::kTile>, count(key_blocks),
           dim3(Shape::kThreads), AttentionBackwardKey<T, Shape>::kSharedBytes, stream, plan);
  });
  if (p.relative.data != nullptr) {
    launch(&sum_relative_slices<T>, count(p.distances * p.heads), dim3(kSumThreads), 0, stream,
           plan);
  }
  launch(&sum_biases<T>, count(p.heads), dim3(kSumThreads), 0, stream, plan);
}

}  // namespace retro::kernels
