// Bodies of the BERT kernels. Includes nothing that has inline functions: those would be compiled
// for the wider instruction set too, and the linker could choose them for everybody.
#pragma once

#include <cstdint>

#include "bert_kernels.h"

namespace retro {

BertKernels<float> bert_kernels_avx512(const float* tag);
BertKernels<Bfloat16Bits> bert_kernels_avx512(const Bfloat16Bits* tag);

namespace {

/// Query rows that share a pass over keys and values.
constexpr int64_t kRows = 4;
constexpr int64_t kColumnMultiple = 16;

constexpr int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Vectors of kWidth values, and the same at any address. (g++ ignores these attributes on
/// dependent types.)
template <int kWidth>
struct Register;
template <>
struct Register<8> {
  using Floats = float __attribute__((vector_size(32)));
  using Ints = int32_t __attribute__((vector_size(32)));
  using Words = uint32_t __attribute__((vector_size(32)));
  using Halves = uint16_t __attribute__((vector_size(16)));
  using FloatsAnywhere = float __attribute__((vector_size(32), aligned(4), may_alias));
  using HalvesAnywhere = uint16_t __attribute__((vector_size(16), aligned(2), may_alias));
};
template <>
struct Register<16> {
  using Floats = float __attribute__((vector_size(64)));
  using Ints = int32_t __attribute__((vector_size(64)));
  using Words = uint32_t __attribute__((vector_size(64)));
  using Halves = uint16_t __attribute__((vector_size(32)));
  using FloatsAnywhere = float __attribute__((vector_size(64), aligned(4), may_alias));
  using HalvesAnywhere = uint16_t __attribute__((vector_size(32), aligned(2), may_alias));
};

template <int kWidth>
struct BertLoops {
  using R = Register<kWidth>;
  using Floats = typename R::Floats;

  static Floats load(const float* from) {
    return *reinterpret_cast<const typename R::FloatsAnywhere*>(from);
  }
  static Floats load(const Bfloat16Bits* from) {
    const typename R::Halves halves = *reinterpret_cast<const typename R::HalvesAnywhere*>(from);
    return reinterpret_cast<Floats>(__builtin_convertvector(halves, typename R::Words) << 16);
  }
  static void store(Floats values, float* to) {
    *reinterpret_cast<typename R::FloatsAnywhere*>(to) = values;
  }
  /// Rounds to nearest, ties to even.
  static void store(Floats values, Bfloat16Bits* to) {
    const auto bits = reinterpret_cast<typename R::Words>(values);
    const typename R::Words rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    *reinterpret_cast<typename R::HalvesAnywhere*>(to) =
        __builtin_convertvector(rounded, typename R::Halves);
  }
  /// The first `count` < kWidth values, zeros behind.
  template <class S>
  static Floats load_part(const S* from, int64_t count) {
    S padded[kWidth] = {};
    for (int64_t i = 0; i < count; ++i) padded[i] = from[i];
    return load(padded);
  }
  template <class S>
  static void store_part(Floats values, S* to, int64_t count) {
    S padded[kWidth];
    store(values, padded);
    for (int64_t i = 0; i < count; ++i) to[i] = padded[i];
  }

  static float sum(Floats values) {
    float lanes[kWidth];
    store(values, lanes);
    for (int step = kWidth / 2; step > 0; step /= 2) {
      for (int i = 0; i < step; ++i) lanes[i] += lanes[i + step];
    }
    return lanes[0];
  }
  static float largest(Floats values) {
    float lanes[kWidth];
    store(values, lanes);
    float result = lanes[0];
    for (const float lane : lanes) result = lane > result ? lane : result;
    return result;
  }

  /// e^x for x <= 0 (2 units in the last place; below -87 a number under 1e-37).
  static Floats exp_of_negative(Floats x) {
    const Floats zero = {};
    x = x < zero - 87.0F ? zero - 87.0F : x;
    const Floats magic = zero + 0x1.8p23F;
    const Floats shifted = x * 1.44269504F + magic;  // adding 1.5 * 2^23 rounds to an integer
    const Floats n = shifted - magic;
    const Floats r = x - n * 0.693359375F + n * 2.12194440e-4F;
    Floats p = zero + 1.9875691500e-4F;
    p = p * r + 1.3981999507e-3F;
    p = p * r + 8.3334519073e-3F;
    p = p * r + 4.1665795894e-2F;
    p = p * r + 1.6666665459e-1F;
    p = p * r + 5.0000001201e-1F;
    p = p * r * r + r + 1.0F;
    const auto exponent = __builtin_convertvector(n, typename R::Ints) << 23;
    return reinterpret_cast<Floats>(reinterpret_cast<typename R::Ints>(p) + exponent);
  }

  /// Rows of `head_width` values to rows of `stride`, scaled, zeros behind; `padded_rows` in all.
  template <class S>
  static void pack_rows(const S* from, int64_t from_stride, const AttentionHead<S>& head,
                        int64_t padded_rows, float scale, float* to, int64_t stride) {
    const int64_t whole = head.head_width / kWidth * kWidth;
    for (int64_t row = 0; row < padded_rows; ++row) {
      const S* source = from + row * from_stride;
      float* target = to + row * stride;
      const bool is_real = row < head.length;
      for (int64_t a = 0; a < stride; a += kWidth) {
        Floats values = {};
        if (is_real && a < whole)
          values = load(source + a);
        else if (is_real && a < head.head_width)
          values = load_part(source + a, head.head_width - a);
        store(values * scale, target + a);
      }
    }
  }

  /// key [length, head_width] to [head_width, columns], zeros behind.
  template <class S>
  static void pack_transposed(const AttentionHead<S>& head, float* to, int64_t columns) {
    float row[kWidth];
    for (int64_t j = 0; j < columns; ++j) {
      for (int64_t a = 0; a < head.head_width; a += kWidth) {
        const int64_t left = head.head_width - a;
        const S* source = head.key + j * head.input_stride + a;
        Floats values = {};
        if (j < head.length) values = left < kWidth ? load_part(source, left) : load(source);
        store(values, row);
        for (int64_t i = 0; i < kWidth && i < left; ++i) to[(a + i) * columns + j] = row[i];
      }
    }
  }

  /// out[x][c] = sum_i left[x][i] * right[i][c] for kRows rows and kC registers of columns.
  template <int kC>
  static void product_tile(const float* left, int64_t left_stride, const float* right,
                           int64_t right_stride, int64_t inner, Floats (&sums)[kRows][kC]) {
    for (auto& row : sums) {
      for (auto& value : row) value = Floats{};
    }
    for (int64_t i = 0; i < inner; ++i) {
      Floats columns[kC];
#pragma GCC unroll 8
      for (int c = 0; c < kC; ++c) columns[c] = load(right + i * right_stride + c * kWidth);
#pragma GCC unroll 8
      for (int64_t x = 0; x < kRows; ++x) {
#pragma GCC unroll 8
        for (int c = 0; c < kC; ++c) sums[x][c] += columns[c] * left[x * left_stride + i];
      }
    }
  }

  /// The product over all `columns` (a multiple of kWidth) of kRows rows.
  static void product(const float* left, int64_t left_stride, const float* right, int64_t columns,
                      int64_t inner, float* out) {
    int64_t column = 0;
    for (; column + 2 * kWidth <= columns; column += 2 * kWidth) {
      Floats sums[kRows][2];
      product_tile<2>(left, left_stride, right + column, columns, inner, sums);
      for (int64_t x = 0; x < kRows; ++x) {
        store(sums[x][0], out + x * columns + column);
        store(sums[x][1], out + x * columns + column + kWidth);
      }
    }
    for (; column < columns; column += kWidth) {
      Floats sums[kRows][1];
      product_tile<1>(left, left_stride, right + column, columns, inner, sums);
      for (int64_t x = 0; x < kRows; ++x) store(sums[x][0], out + x * columns + column);
    }
  }

  /// In place over the first `length` of `columns` scores; what is behind becomes negligible.
  /// Returns 1 / sum.
  static float softmax_row(float* scores, int64_t length, int64_t columns) {
    for (int64_t j = length; j < columns; ++j) scores[j] = -1e30F;
    Floats top = load(scores);
    for (int64_t j = kWidth; j < columns; j += kWidth) {
      const Floats values = load(scores + j);
      top = values > top ? values : top;
    }
    const float offset = largest(top);
    Floats total = {};
    for (int64_t j = 0; j < columns; j += kWidth) {
      const Floats values = exp_of_negative(load(scores + j) - offset);
      total += values;
      store(values, scores + j);
    }
    return 1.0F / sum(total);
  }

  template <class S>
  static void attend(const AttentionHead<S>& head, float* scratch) {
    const int64_t columns = round_up(head.length, kColumnMultiple);
    const int64_t padded_width = round_up(head.head_width, kColumnMultiple);
    const int64_t padded_rows = round_up(head.length, kRows);
    float* query = scratch;
    float* value = query + padded_rows * padded_width;
    float* key = value + head.length * padded_width;
    float* scores = key + head.head_width * columns;
    float* context = scores + kRows * columns;
    const float scale = 1.0F / __builtin_sqrtf(static_cast<float>(head.head_width));
    pack_rows(head.query, head.input_stride, head, padded_rows, scale, query, padded_width);
    pack_rows(head.value, head.input_stride, head, head.length, 1.0F, value, padded_width);
    pack_transposed(head, key, columns);
    for (int64_t row = 0; row < head.length; row += kRows) {
      product(query + row * padded_width, padded_width, key, columns, head.head_width, scores);
      float scales[kRows];
      for (int64_t x = 0; x < kRows; ++x) {
        scales[x] = softmax_row(scores + x * columns, head.length, columns);
      }
      product(scores, columns, value, padded_width, head.length, context);
      for (int64_t x = 0; x < kRows && row + x < head.length; ++x) {
        write_context(head, context + x * padded_width, scales[x], row + x);
      }
    }
  }

  template <class S>
  static void write_context(const AttentionHead<S>& head, const float* context, float scale,
                            int64_t row) {
    S* to = head.context + row * head.context_stride;
    int64_t a = 0;
    for (; a + kWidth <= head.head_width; a += kWidth) store(load(context + a) * scale, to + a);
    if (a < head.head_width) store_part(load(context + a) * scale, to + a, head.head_width - a);
  }

  template <class S>
  static void residual_norm(const ResidualNorm<S>& task) {
    for (int64_t row = 0; row < task.rows; ++row) {
      const int64_t at = row * task.width;
      normalise_row(task, task.residual + at, task.update ? task.update + at : nullptr,
                    task.rounded ? task.rounded + at : nullptr);
    }
  }

  /// Mean and variance in two passes: the row lies in the first-level cache.
  template <class S>
  static void normalise_row(const ResidualNorm<S>& task, float* x, const S* y,
                            Bfloat16Bits* rounded) {
    const int64_t whole = task.width / kWidth * kWidth;
    Floats total = {};
    for (int64_t d = 0; d < whole; d += kWidth) {
      Floats values = load(x + d);
      if (y != nullptr) values += load(y + d);
      store(values, x + d);
      total += values;
    }
    float mean = sum(total);
    for (int64_t d = whole; d < task.width; ++d) {
      if (y != nullptr) store_part(load_part(x + d, 1) + load_part(y + d, 1), x + d, 1);
      mean += x[d];
    }
    mean /= static_cast<float>(task.width);
    Floats squares = {};
    for (int64_t d = 0; d < whole; d += kWidth) {
      const Floats centred = load(x + d) - mean;
      squares += centred * centred;
    }
    float variance = sum(squares);
    for (int64_t d = whole; d < task.width; ++d) variance += (x[d] - mean) * (x[d] - mean);
    variance /= static_cast<float>(task.width);
    const float scale = 1.0F / __builtin_sqrtf(variance + task.epsilon);
    for (int64_t d = 0; d < whole; d += kWidth) {
      const Floats values =
          (load(x + d) - mean) * scale * load(task.gain + d) + load(task.shift + d);
      store(values, x + d);
      if (rounded != nullptr) store(values, rounded + d);
    }
    for (int64_t d = whole; d < task.width; ++d) {
      x[d] = (x[d] - mean) * scale * task.gain[d] + task.shift[d];
      if (rounded != nullptr) store_part(load_part(x + d, 1), rounded + d, 1);
    }
  }

  template <class S>
  static BertKernels<S> kernels() {
    return {&attend<S>, &residual_norm<S>};
  }
};

}  // namespace
}  // namespace retro
