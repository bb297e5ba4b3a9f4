#include "retro/eval/bits_per_byte.h"

#include <limits>
#include <numbers>

namespace retro {

LossSum& LossSum::operator+=(const LossSum& other) {
  nats += other.nats;
  bytes += other.bytes;
  chunks += other.chunks;
  return *this;
}

double LossSum::bits_per_byte() const { return retro::bits_per_byte(nats, bytes); }

double bits_per_byte(double nats, int64_t bytes) {
  if (bytes == 0) return std::numeric_limits<double>::quiet_NaN();
  return nats / (std::numbers::ln2 * static_cast<double>(bytes));
}

}  // namespace retro
