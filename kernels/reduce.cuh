// Sums over a warp and over a block, always in the same order.
#pragma once

#include "kernels/launch.cuh"

namespace retro::kernels {

inline constexpr int kWarpSize = 32;
inline constexpr unsigned kWholeWarp = 0xffffffffu;

/// Every lane gets the sum.
__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
  for (int distance = kWarpSize / 2; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(kWholeWarp, value, distance);
  }
  return value;
}

/// Sum and maximum over the four lanes that share a row of a matrix fragment.
__device__ __forceinline__ float quad_sum(float value) {
  value += __shfl_xor_sync(kWholeWarp, value, 1);
  return value + __shfl_xor_sync(kWholeWarp, value, 2);
}
__device__ __forceinline__ float quad_max(float value) {
  value = fmaxf(value, __shfl_xor_sync(kWholeWarp, value, 1));
  return fmaxf(value, __shfl_xor_sync(kWholeWarp, value, 2));
}

/// Every thread of a block of kThreads gets the sum. Called by all of them; the barrier at its end
/// lets it be called again at once.
template <int kThreads>
__device__ __forceinline__ float block_sum(float value) {
  constexpr int kWarps = kThreads / kWarpSize;
  struct Tag;
  const SharedPointer<float> partial = static_shared<Tag, float, kWarps>();
  value = warp_sum(value);
  if (threadIdx.x % kWarpSize == 0) partial[threadIdx.x / kWarpSize] = value;
  __syncthreads();
  float sum = 0.0f;
  for (int warp = 0; warp < kWarps; ++warp) sum += partial[warp];
  __syncthreads();
  return sum;
}

}  // namespace retro::kernels
