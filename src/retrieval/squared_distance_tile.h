// The loop of squared_distances, compiled once per instruction set. Includes nothing that has
// inline functions: those would be compiled for the wider set too, and the linker could choose them
// for everybody.
#pragma once

#include <cstdint>

namespace retro {

/// As squared_distances, with sizes instead of spans.
using SquaredDistanceFunction = void (*)(const float* queries_XQ, int64_t num_queries,
                                         const float* keys_CQ, int64_t num_keys, int64_t width,
                                         float* distances_XC);
void squared_distances_avx512(const float* queries_XQ, int64_t num_queries, const float* keys_CQ,
                              int64_t num_keys, int64_t width, float* distances_XC);

namespace {

/// 16 partial sums a pair, whatever the register width: every instruction set adds in the same
/// order.
constexpr int kLanes = 16;

/// One register of kWidth floats, and the same at any address. (g++ ignores these attributes on
/// dependent types.)
template <int kWidth>
struct Register;
template <>
struct Register<8> {
  using Type = float __attribute__((vector_size(32)));
  using Unaligned = float __attribute__((vector_size(32), aligned(4), may_alias));
};
template <>
struct Register<16> {
  using Type = float __attribute__((vector_size(64)));
  using Unaligned = float __attribute__((vector_size(64), aligned(4), may_alias));
};

/// kX queries against kC keys, in registers of kWidth floats; `stride` is the row length of the
/// output.
template <int kWidth, int kX, int kC>
inline void distance_tile(const float* queries, const float* keys, int64_t width, float* distances,
                          int64_t stride) {
  using Floats = typename Register<kWidth>::Type;
  using UnalignedFloats = typename Register<kWidth>::Unaligned;
  constexpr int kParts = kLanes / kWidth;
  Floats sums[kX][kC][kParts] = {};
  const int64_t whole = width / kLanes * kLanes;
  for (int64_t block = 0; block < whole; block += kLanes) {
#pragma GCC unroll 8
    for (int part = 0; part < kParts; ++part) {
      const int64_t f = block + part * kWidth;
      Floats key[kC];
#pragma GCC unroll 8
      for (int c = 0; c < kC; ++c) {
        key[c] = *reinterpret_cast<const UnalignedFloats*>(keys + c * width + f);
      }
#pragma GCC unroll 8
      for (int x = 0; x < kX; ++x) {
        const Floats query = *reinterpret_cast<const UnalignedFloats*>(queries + x * width + f);
#pragma GCC unroll 8
        for (int c = 0; c < kC; ++c) {
          const Floats difference = query - key[c];
          sums[x][c][part] += difference * difference;
        }
      }
    }
  }
#pragma GCC unroll 8
  for (int x = 0; x < kX; ++x) {
#pragma GCC unroll 8
    for (int c = 0; c < kC; ++c) {
      float lanes[kLanes];
#pragma GCC unroll 8
      for (int part = 0; part < kParts; ++part) {
        *reinterpret_cast<UnalignedFloats*>(lanes + part * kWidth) = sums[x][c][part];
      }
      for (int step = kLanes / 2; step > 0; step /= 2) {
        for (int i = 0; i < step; ++i) lanes[i] += lanes[i + step];
      }
      float sum = lanes[0];
      for (int64_t f = whole; f < width; ++f) {
        const float difference = queries[x * width + f] - keys[c * width + f];
        sum = __builtin_fmaf(difference, difference, sum);
      }
      distances[x * stride + c] = sum;
    }
  }
}

template <int kWidth, int kX, int kC>
inline void distance_rows(const float* queries, const float* keys, int64_t num_keys, int64_t width,
                          float* distances) {
  int64_t c = 0;
  for (; c + kC <= num_keys; c += kC) {
    distance_tile<kWidth, kX, kC>(queries, keys + c * width, width, distances + c, num_keys);
  }
  for (; c < num_keys; ++c) {
    distance_tile<kWidth, kX, 1>(queries, keys + c * width, width, distances + c, num_keys);
  }
}

template <int kWidth, int kX, int kC>
inline void distance_grid(const float* queries, int64_t num_queries, const float* keys,
                          int64_t num_keys, int64_t width, float* distances) {
  int64_t x = 0;
  for (; x + kX <= num_queries; x += kX) {
    distance_rows<kWidth, kX, kC>(queries + x * width, keys, num_keys, width,
                                  distances + x * num_keys);
  }
  for (; x < num_queries; ++x) {
    distance_rows<kWidth, 1, kC>(queries + x * width, keys, num_keys, width,
                                 distances + x * num_keys);
  }
}

}  // namespace
}  // namespace retro
