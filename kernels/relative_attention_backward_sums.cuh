// The small kernels around the backward: row products before it, sums of partial sums after it.
#pragma once

#include "kernels/reduce.cuh"
#include "kernels/relative_attention_backward_query.cuh"

namespace retro::kernels {

inline constexpr int kSumThreads = 128;

/// grad_out . out of every row: a warp a row.
template <typename T>
__global__ void __launch_bounds__(kSumThreads)
    attention_row_products(const AttentionBackwardLaunch<T> launch) {
  const AttentionParams<T>& params = launch.params.forward;
  const int64_t index = int64_t{blockIdx.x} * (kSumThreads / kWarpSize) + warp_index();
  const int64_t item = index / (params.heads * params.rows);
  if (item >= params.batches * params.chunks) return;
  const int64_t row = index % params.rows;
  const AttentionPlace place = place_of(params, item, index / params.rows % params.heads);
  if (row >= place.num_rows) return;
  const GlobalPointer<const T> grad =
      rows_at(launch.params.grad_out, place, place.head) + row * launch.params.grad_out.row_stride;
  const GlobalPointer<T> out = rows_at(params.out, place, place.head) + row * params.out.row_stride;
  float sum = 0.0f;
  for (int a = lane_index(); a < params.width; a += kWarpSize) {
    sum += to_float(grad[a]) * to_float(out[a]);
  }
  sum = warp_sum(sum);
  if (lane_index() == 0) {
    global(launch.params.workspace)[launch.workspace.row_products + index] = sum;
  }
}

/// grad_relative [distances, heads, width] from the slices; and the sums by distance, into slice 0.
template <typename T>
__global__ void __launch_bounds__(kSumThreads)
    sum_relative_slices(const AttentionBackwardLaunch<T> launch) {
  const AttentionParams<T>& params = launch.params.forward;
  const int64_t head = blockIdx.x % params.heads;
  const int64_t distance = blockIdx.x / params.heads;
  const GlobalPointer<float> workspace = global(launch.params.workspace);
  const int64_t row = head * params.distances + distance;
  const int64_t rows = params.heads * params.distances;
  if (launch.params.grad_relative != nullptr) {
    for (int a = static_cast<int>(threadIdx.x); a < params.width; a += kSumThreads) {
      float sum = 0.0f;
      for (int64_t slice = 0; slice < launch.params.slices; ++slice) {
        sum += workspace[launch.workspace.relative + (slice * rows + row) * params.width + a];
      }
      global(launch.params.grad_relative)[(distance * params.heads + head) * params.width + a] =
          from_float<T>(sum);
    }
  }
  if (threadIdx.x == 0) {
    float sum = 0.0f;
    for (int64_t slice = 0; slice < launch.params.slices; ++slice) {
      sum += workspace[launch.workspace.distance + slice * rows + row];
    }
    workspace[launch.workspace.distance + row] = sum;
  }
}

/// grad b_v = sum over distances of (sum of dS there) * relative; grad b_u is the rest of the sum
/// of grad_query over rows. A block a head, a thread a feature.
template <typename T>
__global__ void __launch_bounds__(kSumThreads) sum_biases(const AttentionBackwardLaunch<T> launch) {
  const AttentionParams<T>& params = launch.params.forward;
  const int64_t head = blockIdx.x;
  const int64_t a = threadIdx.x;
  if (a >= params.width) return;
  const GlobalPointer<const float> workspace = global<const float>(launch.params.workspace);
  float sum = 0.0f;
  for (int64_t slice = 0; slice < launch.params.slices; ++slice) {
    sum += workspace[launch.workspace.query + (slice * params.heads + head) * params.width + a];
  }
  float position = 0.0f;
  if (params.relative.data != nullptr) {
    const GlobalPointer<const T> relative =
        global(params.relative.data) + (head * params.relative.head_stride + a);
    for (int64_t x = 0; x < params.distances; ++x) {
      position += workspace[launch.workspace.distance + head * params.distances + x] *
                  to_float(relative[x * params.relative.row_stride]);
    }
  }
  const int64_t at = head * params.width + a;
  if (launch.params.grad_content_bias != nullptr) {
    global(launch.params.grad_content_bias)[at] = sum - position;
  }
  if (launch.params.grad_position_bias != nullptr) {
    global(launch.params.grad_position_bias)[at] = position;
  }
}

}  // namespace retro::kernels
