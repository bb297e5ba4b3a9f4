// gelu_tanh and its derivative over vectors.
#pragma once

#include "cpu/exponential.h"

namespace retro::cpu {

/// 1/2 (1 + tanh(u)) = 1 / (1 + exp(-2u)) with u = sqrt(2/pi) (x + 0.044715 x^3).
template <typename T, int Bytes>
[[gnu::always_inline]] inline Vec<T, Bytes> gelu_gate(Vec<T, Bytes> x) {
  constexpr T kLinear = T(-2 * 0.7978845608028654 * 1.4426950408889634);
  constexpr T kCubic = T(0.044715) * kLinear;
  const Vec<T, Bytes> exponent = x * (x * x * kCubic + kLinear);
  const Vec<T, Bytes> largest = splat<T, Bytes>(T(126));
  const auto is_zero = exponent > largest;
  const Vec<T, Bytes> gate = T(1) / (exp2<Bytes>(is_zero ? largest : exponent) + T(1));
  return is_zero ? Vec<T, Bytes>{} : gate;
}

template <typename T, int Bytes>
struct GeluPair {
  Vec<T, Bytes> value;
  Vec<T, Bytes> slope;
};

/// x g, and d gelu / dx = g + x g (1 - g) 2 du/dx. Beyond +-32 the gate is exactly 0 or 1 and x is
/// held there in the slope, so that no infinity meets a zero.
template <typename T, int Bytes>
[[gnu::always_inline]] inline GeluPair<T, Bytes> gelu_pair(Vec<T, Bytes> input) {
  const Vec<T, Bytes> bound = splat<T, Bytes>(T(32));
  const Vec<T, Bytes> below = input > bound ? bound : input;
  const Vec<T, Bytes> x = below < -bound ? -bound : below;
  constexpr T kLinear = T(2 * 0.7978845608028654);
  constexpr T kCubic = T(3 * 0.044715) * kLinear;
  const Vec<T, Bytes> gate = gelu_gate<T, Bytes>(x);
  return {input * gate, gate + x * gate * (T(1) - gate) * (x * x * kCubic + kLinear)};
}

template <typename T, int Bytes>
void gelu_forward(const T* input, T* output, int64_t count) {
  constexpr int64_t kLanes = Vector<T, Bytes>::kLanes;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Vec<T, Bytes> x = load<T, Bytes>(input + i);
    store<T, Bytes>(output + i, x * gelu_gate<T, Bytes>(x));
  }
  if (i == count) return;
  const Vec<T, Bytes> x = load_part<T, Bytes>(input + i, count - i);
  store_part<T, Bytes>(output + i, x * gelu_gate<T, Bytes>(x), count - i);
}

/// activated <- gelu(input) and gradient <- gradient * d gelu / dx, for a backward that kept only
/// the input.
template <typename T, int Bytes>
void gelu_both(const T* input, T* gradient, T* activated, int64_t count) {
  constexpr int64_t kLanes = Vector<T, Bytes>::kLanes;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Vec<T, Bytes> x = load<T, Bytes>(input + i);
    const GeluPair<T, Bytes> pair = gelu_pair<T, Bytes>(x);
    store<T, Bytes>(activated + i, pair.value);
    store<T, Bytes>(gradient + i, load<T, Bytes>(gradient + i) * pair.slope);
  }
  if (i == count) return;
  const GeluPair<T, Bytes> pair = gelu_pair<T, Bytes>(load_part<T, Bytes>(input + i, count - i));
  const Vec<T, Bytes> scaled = load_part<T, Bytes>(gradient + i, count - i) * pair.slope;
  store_part<T, Bytes>(activated + i, pair.value, count - i);
  store_part<T, Bytes>(gradient + i, scaled, count - i);
}

template <typename T, int Bytes>
void gelu_backward(const T* input, const T* grad_output, T* grad_input, int64_t count) {
  constexpr int64_t kLanes = Vector<T, Bytes>::kLanes;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Vec<T, Bytes> slope = gelu_pair<T, Bytes>(load<T, Bytes>(input + i)).slope;
    store<T, Bytes>(grad_input + i, load<T, Bytes>(grad_output + i) * slope);
  }
  if (i == count) return;
  const Vec<T, Bytes> slope = gelu_pair<T, Bytes>(load_part<T, Bytes>(input + i, count - i)).slope;
  const Vec<T, Bytes> gradient = load_part<T, Bytes>(grad_output + i, count - i);
  store_part<T, Bytes>(grad_input + i, gradient * slope, count - i);
}

}  // namespace retro::cpu
