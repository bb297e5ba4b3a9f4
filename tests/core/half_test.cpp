#include "retro/core/half.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace retro {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// The value of float16 bits by the definition of IEEE 754 binary16.
float float16_by_definition(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  float value = 0;
  if (exponent == 31) {
    value = fraction == 0 ? kInfinity : std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<float>(fraction), -24);
  } else {
    value = std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

TEST(Half, EveryFloat16IsReadExactlyAndWrittenBack) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float expected = float16_by_definition(half);
    const float value = float_from_float16(half);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_TRUE(std::isnan(float16_by_definition(float16_from_float(value)))) << bits;
    } else {
      ASSERT_EQ(value, expected) << bits;
      ASSERT_EQ(std::signbit(value), std::signbit(expected)) << bits;
      ASSERT_EQ(float16_from_float(value), half);
    }
  }
}

TEST(Half, Float16RoundsToTheNearestAndTiesToEven) {
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const auto lower = static_cast<uint16_t>(bits);
    const auto upper = static_cast<uint16_t>(bits + 1);
    const float middle = (float16_by_definition(lower) + float16_by_definition(upper)) / 2;
    const uint16_t even = bits % 2 == 0 ? lower : upper;
    ASSERT_EQ(float16_from_float(middle), even) << bits;
    ASSERT_EQ(float16_from_float(std::nextafter(middle, 0.0f)), lower) << bits;
    ASSERT_EQ(float16_from_float(std::nextafter(middle, kInfinity)), upper) << bits;
    ASSERT_EQ(float16_from_float(-middle), even | 0x8000) << bits;
  }
}

// The largest float16 is 65504; 65520 is the middle between it and the next power of two.
TEST(Half, Float16Overflows) {
  EXPECT_EQ(float16_from_float(std::nextafter(65520.0f, 0.0f)), 0x7bff);
  EXPECT_EQ(float16_from_float(65520.0f), 0x7c00);
  EXPECT_EQ(float16_from_float(-1e30f), 0xfc00);
  EXPECT_EQ(float16_from_float(kInfinity), 0x7c00);
  EXPECT_EQ(float16_from_float(1e-30f), 0x0000);
  EXPECT_EQ(float16_from_float(-1e-30f), 0x8000);
}

// 1.0 is 0x3f80; the spacing above it is 2^-7.
TEST(Half, Bfloat16) {
  EXPECT_EQ(float_from_bfloat16(0x3f80), 1.0f);
  EXPECT_EQ(float_from_bfloat16(0xc040), -3.0f);
  EXPECT_EQ(bfloat16_from_float(1.0f), 0x3f80);
  EXPECT_EQ(bfloat16_from_float(1.0f + 0x1p-8f), 0x3f80) << "a tie goes to the even one";
  EXPECT_EQ(bfloat16_from_float(1.0f + 0x1p-8f + 0x1p-23f), 0x3f81);
  EXPECT_EQ(bfloat16_from_float(1.0f + 3 * 0x1p-8f), 0x3f82) << "a tie goes to the even one";
  EXPECT_EQ(bfloat16_from_float(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(bfloat16_from_float(-kInfinity), 0xff80);
  const float nan_with_low_bits = std::bit_cast<float>(0x7f800001u);
  EXPECT_TRUE(std::isnan(float_from_bfloat16(bfloat16_from_float(nan_with_low_bits))));
}

}  // namespace
}  // namespace retro
