#include "retro/eval/bits_per_byte.h"

#include <cmath>

#include <gtest/gtest.h>

namespace retro {
namespace {

TEST(BitsPerByte, EightNatsOfFourBytes) {
  // One bit is 0.693147... nats: 4 bytes at one bit each are 2.7726 nats.
  EXPECT_NEAR(bits_per_byte(2.772588722239781, 4), 1.0, 1e-15);
  EXPECT_NEAR(bits_per_byte(8.0, 4), 2.8853900817779268, 1e-15);
}

TEST(BitsPerByte, NothingScoredIsNotANumber) { EXPECT_TRUE(std::isnan(bits_per_byte(0.0, 0))); }

TEST(BitsPerByte, SumsAddUp) {
  LossSum sum;
  sum += {1.5, 3, 1};
  sum += {2.5, 5, 1};
  EXPECT_EQ(sum.chunks, 2);
  EXPECT_EQ(sum.bytes, 8);
  // 4 nats over 8 bytes; not the mean of the two chunks' own figures.
  EXPECT_NEAR(sum.bits_per_byte(), 0.7213475204444817, 1e-15);
}

}  // namespace
}  // namespace retro
