// The part of CUDA C++ that the kernels use, as host C++ for the simulator.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "simulator/checked_pointer.h"
#include "simulator/grid.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __restrict__

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

inline uint3 threadIdx{};
inline uint3 blockIdx{};
inline dim3 blockDim{};
inline dim3 gridDim{};
inline constexpr int warpSize = 32;

inline void __syncthreads(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  retro::simulator::block_barrier(file, line);
}
inline void __syncwarp(unsigned mask = 0xffffffffu, const char* file = __builtin_FILE(),
                       int line = __builtin_LINE()) {
  retro::simulator::warp_barrier(mask, file, line);
}

namespace retro::simulator {

template <typename T>
T value_of_lane(unsigned mask, T value, int lane, const char* file, int line) {
  warp_exchange(mask, &value, sizeof(T), file, line);
  T result;
  std::memcpy(&result, published(lane), sizeof(T));
  return result;
}

/// One bit per lane whose predicate holds.
inline unsigned ballot(unsigned mask, bool predicate, const char* file, int line) {
  warp_exchange(mask, &predicate, sizeof(predicate), file, line);
  unsigned bits = 0;
  for (int lane = 0; lane < kWarpSize; ++lane) {
    if (mask >> lane & 1) bits |= unsigned{*static_cast<const bool*>(published(lane))} << lane;
  }
  return bits;
}

template <typename T, typename Operation>
T atomic_update(CheckedPointer<T> pointer, const Operation& operation) {
  pointer.check(sizeof(T), AccessKind::kAtomic);
  const T old = *pointer.raw();
  *pointer.raw() = operation(old);
  return old;
}

}  // namespace retro::simulator

template <typename T>
T __shfl_sync(unsigned mask, T value, int lane, const char* file = __builtin_FILE(),
              int line = __builtin_LINE()) {
  return retro::simulator::value_of_lane(mask, value, lane & 31, file, line);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int other, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  return retro::simulator::value_of_lane(
      mask, value, retro::simulator::lane_of_current_thread() ^ other, file, line);
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned by, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
  const int lane = retro::simulator::lane_of_current_thread();
  const int source = lane + static_cast<int>(by);
  return retro::simulator::value_of_lane(mask, value, source < 32 ? source : lane, file, line);
}
inline unsigned __ballot_sync(unsigned mask, bool predicate, const char* file = __builtin_FILE(),
                              int line = __builtin_LINE()) {
  return retro::simulator::ballot(mask, predicate, file, line);
}
inline int __any_sync(unsigned mask, bool predicate, const char* file = __builtin_FILE(),
                      int line = __builtin_LINE()) {
  return retro::simulator::ballot(mask, predicate, file, line) != 0;
}
inline int __all_sync(unsigned mask, bool predicate, const char* file = __builtin_FILE(),
                      int line = __builtin_LINE()) {
  return retro::simulator::ballot(mask, predicate, file, line) == mask;
}

/// True for every thread where it is true for any: a barrier with a vote.
inline int __syncthreads_or(int predicate, const char* file = __builtin_FILE(),
                            int line = __builtin_LINE()) {
  static int any = 0;
  any = 0;
  retro::simulator::block_barrier(file, line);
  any |= predicate;
  retro::simulator::block_barrier(file, line);
  const int result = any;
  retro::simulator::block_barrier(file, line);
  return result;
}

template <typename T>
T atomicAdd(retro::simulator::CheckedPointer<T> pointer, T value) {
  return retro::simulator::atomic_update(pointer, [&](T old) { return old + value; });
}
template <typename T>
T atomicMax(retro::simulator::CheckedPointer<T> pointer, T value) {
  return retro::simulator::atomic_update(pointer, [&](T old) { return std::max(old, value); });
}

using std::max;
using std::min;
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline float __expf(float x) { return std::exp(x); }
inline float __fdividef(float x, float y) { return x / y; }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
