#include "../../src/core/config_scalar.h"

#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

namespace retro {
namespace {

TEST(ParseInt, DecimalNumbers) {
  EXPECT_EQ(parse_int("0"), 0);
  EXPECT_EQ(parse_int("-17"), -17);
  EXPECT_EQ(parse_int("+17"), 17);
  EXPECT_EQ(parse_int("007"), 7);
  EXPECT_EQ(parse_int("1_000_000"), 1'000'000);
  EXPECT_EQ(parse_int("1e6"), 1'000'000);
  EXPECT_EQ(parse_int("1E+6"), 1'000'000);
  EXPECT_EQ(parse_int("1.5e3"), 1500);
  EXPECT_EQ(parse_int("2.0"), 2);
  EXPECT_EQ(parse_int("1500e-2"), 15);
  EXPECT_EQ(parse_int("0e99"), 0);
  EXPECT_EQ(parse_int("0.000"), 0);
  EXPECT_EQ(parse_int("-0"), 0);
}

TEST(ParseInt, IsExactToTheLimits) {
  EXPECT_EQ(parse_int("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(parse_int("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(parse_int("9007199254740993e0"), 9007199254740993) << "not through a double";
  EXPECT_EQ(parse_int("9223372036854775808"), std::nullopt);
  EXPECT_EQ(parse_int("-9223372036854775809"), std::nullopt);
  EXPECT_EQ(parse_int("1e19"), std::nullopt);
  EXPECT_EQ(parse_int("1e999999"), std::nullopt);
  EXPECT_EQ(parse_int("1e99999999999999999999"), std::nullopt);
}

TEST(ParseInt, WhatIsNoInteger) {
  for (const char* text :
       {"",   "-",  "1.5", "15e-1", "abc", "1a",  "0x10", "1__0", "_1",   "1_",
        "1 ", " 1", "1e",  "e5",    ".",   "1.e", "--1",  "+-1",  ".inf", "1,000"}) {
    EXPECT_EQ(parse_int(text), std::nullopt) << text;
  }
}

TEST(ParseDouble, DecimalNumbers) {
  EXPECT_EQ(parse_double("0.1"), 0.1);
  EXPECT_EQ(parse_double("1e-3"), 1e-3);
  EXPECT_EQ(parse_double("-2.5E+3"), -2500.0);
  EXPECT_EQ(parse_double(".5"), 0.5);
  EXPECT_EQ(parse_double("5."), 5.0);
  EXPECT_EQ(parse_double("3"), 3.0);
  EXPECT_EQ(parse_double("1_000.5"), 1000.5);
  EXPECT_EQ(parse_double("5e-324"), 5e-324);
  EXPECT_EQ(parse_double("1.7976931348623157e308"), 1.7976931348623157e308);
  EXPECT_EQ(parse_double(".inf"), HUGE_VAL);
  EXPECT_EQ(parse_double("-.Inf"), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(*parse_double(".nan")));
  EXPECT_TRUE(std::signbit(*parse_double("-0.0")));
}

TEST(ParseDouble, WhatIsNoNumber) {
  for (const char* text :
       {"", "-", ".", "inf", "nan", "0x1p3", "1e", "1.2.3", "1 2", "1e999", "infinity", "1f"}) {
    EXPECT_EQ(parse_double(text), std::nullopt) << text;
  }
}

TEST(ParseBool, UsualSpellings) {
  for (const char* text : {"true", "True", "TRUE", "yes", "on", "On"})
    EXPECT_EQ(parse_bool(text), true) << text;
  for (const char* text : {"false", "False", "no", "NO", "off"})
    EXPECT_EQ(parse_bool(text), false) << text;
  for (const char* text : {"", "tRUE", "1", "0", "y", "n", "truee", "t"})
    EXPECT_EQ(parse_bool(text), std::nullopt) << text;
}

}  // namespace
}  // namespace retro
