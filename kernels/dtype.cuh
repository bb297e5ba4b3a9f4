// bfloat16 and float32 under one name.
#pragma once

#include <cuda_bf16.h>

#include "kernels/launch.cuh"

namespace retro::kernels {

using bfloat16 = __nv_bfloat16;

__device__ __forceinline__ float to_float(float value) { return value; }
__device__ __forceinline__ float to_float(bfloat16 value) { return __bfloat162float(value); }

template <typename T>
__device__ __forceinline__ T from_float(float value);
template <>
__device__ __forceinline__ float from_float<float>(float value) {
  return value;
}
template <>
__device__ __forceinline__ bfloat16 from_float<bfloat16>(float value) {
  return __float2bfloat16_rn(value);
}

/// Two floats as a pair of bfloat16 in a register, the first in the low half.
__device__ __forceinline__ uint32_t pack_pair(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  uint32_t bits;
  memcpy(&bits, &pair, sizeof(bits));
  return bits;
}

}  // namespace retro::kernels
