// A few rows times a matrix: dot products straight from memory (decoding one token reads each
// weight once).
#pragma once

#include "cpu/gemm_problem.h"
#include "cpu/multiplier.h"

namespace retro::cpu {

/// Reads runs of `kRun` elements along the depth in a multiplier's packed form.
template <typename M>
struct RunReader;

template <typename T, int Bytes>
struct RunReader<NativeMultiplier<T, Bytes>> {
  static constexpr int64_t kRun = Vector<T, Bytes>::kLanes;
  [[gnu::always_inline]] static inline Vec<T, Bytes> read(const T* from) {
    return load<T, Bytes>(from);
  }
  [[gnu::always_inline]] static inline Vec<T, Bytes> read_part(const T* from, int64_t count) {
    Vec<T, Bytes> value{};
    for (int64_t i = 0; i < count; ++i) value[i] = from[i];
    return value;
  }
  [[gnu::always_inline]] static inline Vec<T, Bytes> add(Vec<T, Bytes> sum, Vec<T, Bytes> a,
                                                         Vec<T, Bytes> b) {
    return sum + a * b;
  }
};

template <typename M>
struct ThinGemm {
  using T = typename M::Element;
  using Reader = RunReader<M>;
  using V = Vec<T, M::kBytes>;

  static void multiply(const GemmProblem<T>& problem, int64_t begin, int64_t end) {
    for (int64_t row = 0; row < problem.rows; ++row) {
      int64_t column = begin;
      for (; column + 4 <= end; column += 4) dot_columns<4>(problem, row, column);
      for (; column < end; ++column) dot_columns<1>(problem, row, column);
    }
  }

 private:
  template <int Columns>
  [[gnu::always_inline]] static inline void dot_columns(const GemmProblem<T>& problem, int64_t row,
                                                        int64_t column) {
    const T* left = problem.left.data + row * problem.left.row_stride;
    const T* right = problem.right.data + column * problem.right.column_stride;
    V sums[Columns][2] = {};
    int64_t k = 0;
    for (; k + 2 * Reader::kRun <= problem.depth; k += 2 * Reader::kRun) {
      const V a0 = Reader::read(left + k);
      const V a1 = Reader::read(left + k + Reader::kRun);
#pragma GCC unroll 4
      for (int c = 0; c < Columns; ++c) {
        const T* b = right + c * problem.right.column_stride + k;
        sums[c][0] = Reader::add(sums[c][0], a0, Reader::read(b));
        sums[c][1] = Reader::add(sums[c][1], a1, Reader::read(b + Reader::kRun));
      }
    }
    for (; k < problem.depth; k += Reader::kRun) {
      const int64_t count = problem.depth - k < Reader::kRun ? problem.depth - k : Reader::kRun;
      const V a = Reader::read_part(left + k, count);
#pragma GCC unroll 4
      for (int c = 0; c < Columns; ++c) {
        const T* b = right + c * problem.right.column_stride + k;
        sums[c][0] = Reader::add(sums[c][0], a, Reader::read_part(b, count));
      }
    }
    T* out = problem.out + row * problem.out_stride + column;
#pragma GCC unroll 4
    for (int c = 0; c < Columns; ++c) {
      const T sum = sum_lanes<T, M::kBytes>(sums[c][0] + sums[c][1]);
      out[c] = problem.addend == nullptr
                   ? sum
                   : problem.addend[row * problem.addend_stride + column + c] + sum;
    }
  }
};

}  // namespace retro::cpu
