// Decoding blocks of 32 weights, and a few rows times a matrix of them straight from memory.
#pragma once

#include <cstring>

#include <immintrin.h>

#include "cpu/block_kernels.h"
#include "cpu/vector.h"

namespace retro::cpu {

/// A half-precision scale and 32 signed bytes.
struct Q8Blocks {
  static constexpr int64_t kBytes = 34;
  [[gnu::always_inline]] static inline float scale(const uint8_t* block) {
    uint16_t bits = 0;
    std::memcpy(&bits, block, sizeof bits);
    return _cvtsh_ss(bits);
  }
  template <int Bytes>
  [[gnu::always_inline]] static inline Vec<float, Bytes> read(const uint8_t* block, int64_t first) {
    const auto* from = reinterpret_cast<const __m128i*>(block + 2 + first);
    if constexpr (Bytes == 64) {
      return (Vec<float, 64>)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(from)));
    } else {
      return (Vec<float, 32>)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(from)));
    }
  }
};

struct Bfloat16Blocks {
  static constexpr int64_t kBytes = 64;
  [[gnu::always_inline]] static inline float scale(const uint8_t* /*block*/) { return 1.0F; }
  template <int Bytes>
  [[gnu::always_inline]] static inline Vec<float, Bytes> read(const uint8_t* block, int64_t first) {
    const uint8_t* from = block + 2 * first;
    if constexpr (Bytes == 64) {
      const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
      return (Vec<float, 64>)_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16);
    } else {
      const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
      return (Vec<float, 32>)_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16);
    }
  }
};

template <typename Blocks, int Bytes>
struct BlockGemv {
  using V = Vec<float, Bytes>;
  static constexpr int64_t kLanes = Vector<float, Bytes>::kLanes;
  static constexpr int64_t kElements = 32;
  static constexpr int kVectors = static_cast<int>(kElements / kLanes);

  static void decode(const uint8_t* blocks, int64_t num_blocks, float* out) {
    for (int64_t b = 0; b < num_blocks; ++b, blocks += Blocks::kBytes, out += kElements) {
      const V scale = splat<float, Bytes>(Blocks::scale(blocks));
#pragma GCC unroll 4
      for (int i = 0; i < kVectors; ++i) {
        store<float, Bytes>(out + i * kLanes,
                            scale * Blocks::template read<Bytes>(blocks, i * kLanes));
      }
    }
  }

  static void multiply(const BlockProduct& product, int64_t begin, int64_t end) {
    for (int64_t row = 0; row < product.rows; ++row) {
      int64_t column = begin;
      for (; column + 4 <= end; column += 4) dot_columns<4>(product, row, column);
      for (; column < end; ++column) dot_columns<1>(product, row, column);
    }
  }

  static BlockKernels table() { return {Blocks::kBytes, decode, multiply}; }

 private:
  template <int Columns>
  [[gnu::always_inline]] static inline void dot_columns(const BlockProduct& product, int64_t row,
                                                        int64_t column) {
    const float* left = product.left + row * product.left_stride;
    const uint8_t* blocks = product.blocks + column * product.row_bytes;
    V sums[Columns] = {};
    for (int64_t k = 0; k < product.depth; k += kElements, blocks += Blocks::kBytes) {
      V a[kVectors];
#pragma GCC unroll 4
      for (int i = 0; i < kVectors; ++i) a[i] = load<float, Bytes>(left + k + i * kLanes);
#pragma GCC unroll 4
      for (int c = 0; c < Columns; ++c) {
        const uint8_t* block = blocks + c * product.row_bytes;
        V part = a[0] * Blocks::template read<Bytes>(block, 0);
#pragma GCC unroll 4
        for (int i = 1; i < kVectors; ++i)
          part += a[i] * Blocks::template read<Bytes>(block, i * kLanes);
        sums[c] += part * splat<float, Bytes>(Blocks::scale(block));
      }
    }
    float* out = product.out + row * product.out_stride + column;
#pragma GCC unroll 4
    for (int c = 0; c < Columns; ++c) out[c] = sum_lanes<float, Bytes>(sums[c]);
  }
};

}  // namespace retro::cpu
