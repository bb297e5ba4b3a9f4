// The gated activation of Llama's feed-forward and its derivatives over vectors.
#pragma once

#include "cpu/elementwise_kernels.h"
#include "cpu/exponential.h"

namespace retro::cpu {

/// 1 / (1 + exp(-x)); exactly 0 where exp would not fit.
template <typename T, int Bytes>
[[gnu::always_inline]] inline Vec<T, Bytes> sigmoid(Vec<T, Bytes> x) {
  const Vec<T, Bytes> exponent = x * T(-1.4426950408889634);
  const Vec<T, Bytes> largest = splat<T, Bytes>(T(126));
  const auto is_zero = exponent > largest;
  const Vec<T, Bytes> value = T(1) / (exp2<Bytes>(is_zero ? largest : exponent) + T(1));
  return is_zero ? Vec<T, Bytes>{} : value;
}

/// Calls step(load, store, i) for every vector; the last one is padded.
template <typename T, int Bytes, typename Step>
[[gnu::always_inline]] inline void for_each_vector(int64_t count, const Step& step) {
  constexpr int64_t kLanes = Vector<T, Bytes>::kLanes;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    step([i](const T* from) { return load<T, Bytes>(from + i); },
         [i](T* to, Vec<T, Bytes> value) { store<T, Bytes>(to + i, value); });
  }
  if (i == count) return;
  const int64_t rest = count - i;
  step([i, rest](const T* from) { return load_part<T, Bytes>(from + i, rest); },
       [i, rest](T* to, Vec<T, Bytes> value) { store_part<T, Bytes>(to + i, value, rest); });
}

/// output <- gate sigmoid(gate) up; output may be one of the inputs.
template <typename T, int Bytes>
void swiglu_forward(const T* gate, const T* up, T* output, int64_t count) {
  for_each_vector<T, Bytes>(count, [&](const auto& get, const auto& put) {
    const Vec<T, Bytes> g = get(gate);
    put(output, g * sigmoid<T, Bytes>(g) * get(up));
  });
}

/// With s = sigmoid(g): d gate = dy up s (1 + g (1 - s)), d up = dy g s.
template <typename T, int Bytes>
void swiglu_backward(const SwigluGradients<T>& params, int64_t begin, int64_t end) {
  for_each_vector<T, Bytes>(end - begin, [&](const auto& get, const auto& put) {
    const Vec<T, Bytes> g = get(params.gate + begin), dy = get(params.grad_output + begin);
    const Vec<T, Bytes> s = sigmoid<T, Bytes>(g);
    put(params.grad_gate + begin, dy * get(params.up + begin) * s * (T(1) + g * (T(1) - s)));
    put(params.grad_up + begin, dy * g * s);
  });
}

}  // namespace retro::cpu
