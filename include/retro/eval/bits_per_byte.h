// Bits per byte: nats over ln 2 times the bytes of the raw text (METHOD section 6).
#pragma once

#include <cstdint>

namespace retro {

/// Sums over chunks of negative log-likelihood and of raw UTF-8 bytes.
struct LossSum {
  double nats = 0;
  int64_t bytes = 0;
  int64_t chunks = 0;

  LossSum& operator+=(const LossSum& other);
  /// NaN without a byte.
  double bits_per_byte() const;
};

/// nats / (ln 2 x bytes).
double bits_per_byte(double nats, int64_t bytes);

}  // namespace retro
