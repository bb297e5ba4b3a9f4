// The softmax of linear_cross_entropy over blocks of the vocabulary.
#pragma once

#include "cpu/bfloat16_storage.h"
#include "cpu/exponential.h"

namespace retro::cpu {

template <typename T>
inline constexpr T kLog2OfE = T(1.4426950408889634);

/// Adds a block of logits to a row's running softmax. With `stored`, keeps exp(logit - maximum) for
/// the maximum so far, which the caller notes down.
template <typename T, int Bytes, typename Stored>
void softmax_block(const T* logits, int64_t count, RunningSoftmax<T>* running, Stored* stored) {
  constexpr int64_t kLanes = Vector<T, Bytes>::kLanes;
  const int64_t whole = count / kLanes * kLanes;
  const Vec<T, Bytes> nothing = splat<T, Bytes>(minus_infinity<T>());
  const Vec<T, Bytes> tail =
      load_part<T, Bytes>(logits + whole, count - whole, minus_infinity<T>());
  Vec<T, Bytes> largest[2] = {tail, nothing};
  int64_t i = 0;
  for (; i + 2 * kLanes <= whole; i += 2 * kLanes) {
    largest[0] = larger<T, Bytes>(largest[0], load<T, Bytes>(logits + i));
    largest[1] = larger<T, Bytes>(largest[1], load<T, Bytes>(logits + i + kLanes));
  }
  if (i < whole) largest[1] = larger<T, Bytes>(largest[1], load<T, Bytes>(logits + i));
  T maximum = max_lane<T, Bytes>(larger<T, Bytes>(largest[0], largest[1]));
  maximum = maximum > running->maximum ? maximum : running->maximum;
  Vec<T, Bytes> sum{};
  for (i = 0; i < whole; i += kLanes) {
    const Vec<T, Bytes> e = exp2<Bytes>((load<T, Bytes>(logits + i) - maximum) * kLog2OfE<T>);
    sum += e;
    if (stored != nullptr) store_as<T, Bytes>(stored + i, e);
  }
  if (whole < count) {
    const Vec<T, Bytes> e = exp2<Bytes>((tail - maximum) * kLog2OfE<T>);
    sum += e;
    if (stored != nullptr) store_part_as<T, Bytes>(stored + whole, e, count - whole);
  }
  const T shrink = exp2<Bytes>(splat<T, Bytes>((running->maximum - maximum) * kLog2OfE<T>))[0];
  running->sum = running->sum * shrink + sum_lanes<T, Bytes>(sum);
  running->maximum = maximum;
}

/// out <- stored * factor.
template <typename T, int Bytes, typename Stored>
void scale_block(const Stored* stored, int64_t count, T factor, T* out) {
  constexpr int64_t kLanes = Vector<T, Bytes>::kLanes;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    store<T, Bytes>(out + i, load_as<T, Bytes>(stored + i) * factor);
  }
  for (; i < count; ++i) out[i] = widened(stored[i]) * factor;
}

}  // namespace retro::cpu
