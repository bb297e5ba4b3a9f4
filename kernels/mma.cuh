// Products of 16 x 16 tiles by a warp, the same code for bfloat16 (tensor cores) and float32.
//
// C is 16 x 8, float32, spread over the warp as mma.sync has it: lane l holds rows l / 4 and l / 4
// + 8, columns 2 (l mod 4) and the next:  c[0], c[1] of the upper row, c[2], c[3] of the lower.
// float32 uses no tensor cores (TF32 keeps 10 bits; the promise here is 24): a lane reads whole
// rows of A and its own columns of B and multiplies. Rows of tiles in shared memory are padded by
// 16 bytes, which puts 8 consecutive rows into different banks for both types.
#pragma once

#include "kernels/dtype.cuh"
#include "kernels/reduce.cuh"
#include "kernels/vector_io.cuh"
#include "kernels/warp_instructions.cuh"

namespace retro::kernels {

/// Elements from one row of a tile to the next.
template <typename T>
constexpr int padded(int width) {
  return width + kVectorWidth<T>;
}

/// One 16 x 8 accumulator.
struct Accumulator {
  float c[4];
};

__device__ __forceinline__ int lane_index() { return static_cast<int>(threadIdx.x) % kWarpSize; }

/// Row (0..15) and column (0..7) of element e of an accumulator in this lane.
__device__ __forceinline__ int accumulator_row(int e) { return lane_index() / 4 + e / 2 * 8; }
__device__ __forceinline__ int accumulator_column(int e) { return lane_index() % 4 * 2 + e % 2; }

/// 16 x 16 of A, 16 (k) x 16 (n) of B.
template <typename T>
struct FragmentA;
template <typename T>
struct FragmentB;

template <>
struct FragmentA<bfloat16> {
  uint32_t registers[4];
};
template <>
struct FragmentB<bfloat16> {
  uint32_t registers[4];  ///< columns 0..7: k 0..7, k 8..15; then columns 8..15
};
template <>
struct FragmentA<float> {
  float rows[2][16];  ///< [upper or lower row][k]; the four lanes of a row hold the same
};
template <>
struct FragmentB<float> {
  float columns[4][16];  ///< [two of columns 0..7, two of columns 8..15][k]
};

/// A from a row-major tile; `tile` points at its first element.
__device__ __forceinline__ FragmentA<bfloat16> load_a(SharedPointer<const bfloat16> tile,
                                                      int stride) {
  FragmentA<bfloat16> a;
  const int lane = lane_index();
  load_matrices(a.registers, tile + (lane % 16 * stride + lane / 16 * 8));
  return a;
}

__device__ __forceinline__ FragmentA<float> load_a(SharedPointer<const float> tile, int stride) {
  FragmentA<float> a;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const SharedPointer<const float> row = tile + (lane_index() / 4 + half * 8) * stride;
#pragma unroll
    for (int k = 0; k < 16; k += 4) {
      const auto four = load_as<float4>(row + k);
      a.rows[half][k] = four.x;
      a.rows[half][k + 1] = four.y;
      a.rows[half][k + 2] = four.z;
      a.rows[half][k + 3] = four.w;
    }
  }
  return a;
}

/// B[k][n] = tile[n][k]: the product with a transposed tile, such as scores = Q K^T.
__device__ __forceinline__ FragmentB<bfloat16> load_b_transposed(SharedPointer<const bfloat16> tile,
                                                                 int stride) {
  FragmentB<bfloat16> b;
  const int lane = lane_index();
  load_matrices(b.registers, tile + ((lane % 8 + lane / 16 * 8) * stride + lane / 8 % 2 * 8));
  return b;
}

__device__ __forceinline__ FragmentB<float> load_b_transposed(SharedPointer<const float> tile,
                                                              int stride) {
  FragmentB<float> b;
#pragma unroll
  for (int column = 0; column < 4; ++column) {
    const int n = lane_index() % 4 * 2 + column % 2 + column / 2 * 8;
#pragma unroll
    for (int k = 0; k < 16; k += 4) {
      const auto four = load_as<float4>(tile + (n * stride + k));
      b.columns[column][k] = four.x;
      b.columns[column][k + 1] = four.y;
      b.columns[column][k + 2] = four.z;
      b.columns[column][k + 3] = four.w;
    }
  }
  return b;
}

/// B[k][n] = tile[k][n], such as the product of weights with values.
__device__ __forceinline__ FragmentB<bfloat16> load_b(SharedPointer<const bfloat16> tile,
                                                      int stride) {
  FragmentB<bfloat16> b;
  const int lane = lane_index();
  load_matrices_transposed(b.registers, tile + (lane % 16 * stride + lane / 16 * 8));
  return b;
}

__device__ __forceinline__ FragmentB<float> load_b(SharedPointer<const float> tile, int stride) {
  FragmentB<float> b;
#pragma unroll
  for (int k = 0; k < 16; ++k) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const auto two = load_as<float2>(tile + (k * stride + lane_index() % 4 * 2 + half * 8));
      b.columns[half * 2][k] = two.x;
      b.columns[half * 2 + 1][k] = two.y;
    }
  }
  return b;
}

/// A from two accumulators that lie beside each other: what a product gave becomes the left side of
/// the next without touching memory.
template <typename T>
__device__ __forceinline__ FragmentA<T> as_a(const Accumulator& left, const Accumulator& right);

template <>
__device__ __forceinline__ FragmentA<bfloat16> as_a<bfloat16>(const Accumulator& left,
                                                              const Accumulator& right) {
  return {{pack_pair(left.c[0], left.c[1]), pack_pair(left.c[2], left.c[3]),
           pack_pair(right.c[0], right.c[1]), pack_pair(right.c[2], right.c[3])}};
}

template <>
__device__ __forceinline__ FragmentA<float> as_a<float>(const Accumulator& left,
                                                        const Accumulator& right) {
  FragmentA<float> a;
  const int first = lane_index() / 4 * 4;  // the four lanes that hold this lane's rows
#pragma unroll
  for (int k = 0; k < 16; ++k) {
    const Accumulator& source = k < 8 ? left : right;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      a.rows[half][k] = __shfl_sync(kWholeWarp, source.c[k % 2 + half * 2], first + k % 8 / 2);
    }
  }
  return a;
}

/// A[row][k] = source[row * row_stride + k * k_stride] from floats in shared memory.
template <typename T>
__device__ __forceinline__ FragmentA<T> load_a_floats(SharedPointer<const float> source,
                                                      int row_stride, int k_stride);

template <>
__device__ __forceinline__ FragmentA<bfloat16> load_a_floats<bfloat16>(
    SharedPointer<const float> source, int row_stride, int k_stride) {
  FragmentA<bfloat16> a;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = lane_index() / 4 + i % 2 * 8;
    const int k = lane_index() % 4 * 2 + i / 2 * 8;
    const SharedPointer<const float> pair = source + (row * row_stride + k * k_stride);
    a.registers[i] = pack_pair(pair[0], pair[k_stride]);
  }
  return a;
}

template <>
__device__ __forceinline__ FragmentA<float> load_a_floats<float>(SharedPointer<const float> source,
                                                                 int row_stride, int k_stride) {
  FragmentA<float> a;
#pragma unroll
  for (int k = 0; k < 16; ++k) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      a.rows[half][k] = source[(lane_index() / 4 + half * 8) * row_stride + k * k_stride];
    }
  }
  return a;
}

/// left, right (16 x 8 each, beside each other) += a b.
__device__ __forceinline__ void multiply_add(Accumulator& left, Accumulator& right,
                                             const FragmentA<bfloat16>& a,
                                             const FragmentB<bfloat16>& b) {
  mma_16x8x16(left.c, a.registers, b.registers[0], b.registers[1]);
  mma_16x8x16(right.c, a.registers, b.registers[2], b.registers[3]);
}

__device__ __forceinline__ void multiply_add(Accumulator& left, Accumulator& right,
                                             const FragmentA<float>& a, const FragmentB<float>& b) {
#pragma unroll
  for (int k = 0; k < 16; ++k) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      left.c[e] += a.rows[e / 2][k] * b.columns[e % 2][k];
      right.c[e] += a.rows[e / 2][k] * b.columns[2 + e % 2][k];
    }
  }
}

/// accumulators (16 x 8 kCount) += A B^T over a depth of kDepth, both tiles row-major in shared
/// memory.
template <typename T, int kDepth, int kCount>
__device__ __forceinline__ void multiply_transposed(Accumulator (&sums)[kCount],
                                                    SharedPointer<const T> a, int a_stride,
                                                    SharedPointer<const T> b, int b_stride) {
  // Unrolled steps let loads run ahead as far as registers go; one of float32 has 512 instructions.
  [[maybe_unused]] constexpr int kUnroll = sizeof(T) == 2 ? (kDepth < 128 ? kDepth / 16 : 4) : 1;
#pragma unroll kUnroll
  for (int k = 0; k < kDepth; k += 16) {
    const FragmentA<T> left = load_a(a + k, a_stride);
#pragma unroll
    for (int n = 0; n < kCount; n += 2) {
      multiply_add(sums[n], sums[n + 1], left,
                   load_b_transposed(b + (n * 8 * b_stride + k), b_stride));
    }
  }
}

/// sums (16 x 8 kCount) += W B with W the 16 x 8 kInner accumulators of an earlier product, B
/// row-major [8 kInner, 8 kCount].
template <typename T, int kInner, int kCount>
__device__ __forceinline__ void multiply_accumulators(Accumulator (&sums)[kCount],
                                                      const Accumulator (&weights)[kInner],
                                                      SharedPointer<const T> b, int b_stride) {
#pragma unroll
  for (int k = 0; k < kInner; k += 2) {
    const FragmentA<T> left = as_a<T>(weights[k], weights[k + 1]);
#pragma unroll
    for (int n = 0; n < kCount; n += 2) {
      multiply_add(sums[n], sums[n + 1], left, load_b(b + (k * 8 * b_stride + n * 8), b_stride));
    }
  }
}

template <int kCount>
__device__ __forceinline__ void clear(Accumulator (&sums)[kCount]) {
#pragma unroll
  for (int n = 0; n < kCount; ++n) {
#pragma unroll
    for (int e = 0; e < 4; ++e) sums[n].c[e] = 0.0f;
  }
}

}  // namespace retro::kernels
