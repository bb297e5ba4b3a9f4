// The inner loop of every matrix product: a block of rows x a few vectors, held in registers.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "cpu/multiplier.h"

namespace retro::cpu {

/// Left operand, read element by element: rows and depth at any stride.
template <typename P>
struct LeftTile {
  const P* data;
  int64_t row_stride;
  int64_t depth_stride;
};

/// Right operand: contiguous vectors, one row of them per depth step.
template <typename P>
struct RightTile {
  const P* data;
  int64_t depth_stride;
};

/// Where a block of sums goes, and what is added to it first (null: nothing; often what is there
/// already).
template <typename T>
struct OutTile {
  T* data;
  int64_t row_stride;
  const T* addend;
  int64_t addend_stride;
};

/// Rows x 2 vectors fill 24 of 32 registers with AVX-512, 12 of 16 with AVX2: measured at the peak
/// of the fused multiply-add units for both float32 and bfloat16.
template <int Bytes>
inline constexpr int64_t kBlockRows = Bytes == 64 ? 12 : 6;
inline constexpr int kBlockVectors = 2;

/// kUnitRows: left.row_stride is 1, as in packed panels; the addresses are then constants.
template <typename M, int Rows, int Vectors, bool kUnitRows>
[[gnu::noinline]] void multiply_block(int64_t depth_steps, LeftTile<typename M::Packed> left,
                                      RightTile<typename M::Packed> right,
                                      OutTile<typename M::Element> out) {
  using T = typename M::Element;
  constexpr int kBytes = M::kBytes;
  constexpr int64_t kLanes = Vector<T, kBytes>::kLanes;
  Vec<T, kBytes> sums[Rows][Vectors];
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < Vectors; ++j) sums[i][j] = Vec<T, kBytes>{};
  }
  const auto run = [&](int64_t steps) __attribute__((always_inline)) {
    for (int64_t k = 0; k < steps; ++k) {
      Vec<T, kBytes> b[Vectors];
#pragma GCC unroll 4
      for (int j = 0; j < Vectors; ++j) b[j] = load<T, kBytes>(right.data + j * kLanes);
#pragma GCC unroll 16
      for (int i = 0; i < Rows; ++i) {
        const typename M::Packed a = left.data[kUnitRows ? i : i * left.row_stride];
#pragma GCC unroll 4
        for (int j = 0; j < Vectors; ++j) sums[i][j] = M::add(sums[i][j], a, b[j]);
      }
      left.data += left.depth_stride;
      right.data += right.depth_stride;
    }
  };
  // The output's lines are fetched while the sums grow, a row at a time: all at once they would
  // hold up the operands' own loads.
  constexpr int64_t kStepsPerPrefetch = 8;
  if (depth_steps >= Rows * kStepsPerPrefetch) {
    const T* row = out.data;
    for (int64_t i = 0; i < Rows; ++i, row += out.row_stride) {
      __builtin_prefetch(row, 1);
      __builtin_prefetch(row + kLanes, 1);
      run(kStepsPerPrefetch);
    }
    depth_steps -= Rows * kStepsPerPrefetch;
  }
  run(depth_steps);
  if (out.addend != nullptr) {
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < Vectors; ++j) {
        sums[i][j] += load<T, kBytes>(out.addend + i * out.addend_stride + j * kLanes);
      }
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < Vectors; ++j) {
      store<T, kBytes>(out.data + i * out.row_stride + j * kLanes, sums[i][j]);
    }
  }
}

template <typename M>
using BlockFunction = void (*)(int64_t, LeftTile<typename M::Packed>, RightTile<typename M::Packed>,
                               OutTile<typename M::Element>);

template <typename M, int Vectors, bool kUnitRows, std::size_t... Rows>
constexpr std::array<BlockFunction<M>, sizeof...(Rows)> block_functions(
    std::index_sequence<Rows...> /*rows*/) {
  return {multiply_block<M, static_cast<int>(Rows) + 1, Vectors, kUnitRows>...};
}

/// The kernel for `rows` (1..kBlockRows) rows.
template <typename M, int Vectors, bool kUnitRows>
[[gnu::always_inline]] inline BlockFunction<M> block_function(int64_t rows) {
  static constexpr auto kFunctions =
      block_functions<M, Vectors, kUnitRows>(std::make_index_sequence<kBlockRows<M::kBytes>>());
  return kFunctions[static_cast<std::size_t>(rows - 1)];
}

/// Rows cut into blocks of nearly equal size, none above kBlockRows: no block is too thin to fill
/// the pipeline.
struct EvenBlocks {
  int64_t total;
  int64_t count;

  [[gnu::always_inline]] inline EvenBlocks(int64_t rows, int64_t largest)
      : total(rows), count((rows + largest - 1) / largest) {}
  [[gnu::always_inline]] inline int64_t begin(int64_t block) const { return total * block / count; }
};

}  // namespace retro::cpu
