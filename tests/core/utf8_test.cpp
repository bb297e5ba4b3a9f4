#include "retro/core/utf8.h"

#include <string>

#include <gtest/gtest.h>

namespace retro {
namespace {

using namespace std::string_literals;

TEST(Utf8, ValidTexts) {
  for (const std::string& text :
       {""s, "plain"s, "a\0b"s, "\x7F"s, "\xC2\x80"s, "\xDF\xBF"s, "\xE0\xA0\x80"s, "\xED\x9F\xBF"s,
        "\xEE\x80\x80"s, "\xEF\xBF\xBF"s, "\xF0\x90\x80\x80"s, "\xF4\x8F\xBF\xBF"s,
        "12345678\xE2\x82\xAC"
        "12345678"s}) {
    EXPECT_EQ(first_invalid_utf8(text), -1) << text;
    EXPECT_EQ(replace_broken_utf8(text), text);
  }
}

struct BrokenCase {
  std::string text;
  int64_t offset;
  std::string repaired;  // Python: text.decode("utf-8", "replace")
};

const std::string kBad = "\xEF\xBF\xBD";

TEST(Utf8, BrokenTexts) {
  const BrokenCase cases[] = {
      {"\x80", 0, kBad},
      {"a\xBF"
       "b",
       1, "a" + kBad + "b"},
      {"\xC0\x80", 0, kBad + kBad},  // overlong NUL
      {"\xC1\xBF", 0, kBad + kBad},
      {"\xC3", 0, kBad},
      {"\xC3(", 0, kBad + "("},
      {"\xE0\x80\x80", 0, kBad + kBad + kBad},  // overlong
      {"\xE0\x9F\xBF", 0, kBad + kBad + kBad},
      {"\xE2\x82", 0, kBad},  // cut: one maximal subpart
      {"\xE2\x82x", 0, kBad + "x"},
      {"\xED\xA0\x80", 0, kBad + kBad + kBad},  // a surrogate
      {"\xF0\x8F\xBF\xBF", 0, kBad + kBad + kBad + kBad},
      {"\xF0\x9F\x98", 0, kBad},
      {"\xF0\x9F\x98\xF0\x9F\x98\x80", 0, kBad + "\xF0\x9F\x98\x80"},
      {"\xF4\x90\x80\x80", 0, kBad + kBad + kBad + kBad},  // beyond U+10FFFF
      {"\xF5\x80\x80\x80", 0, kBad + kBad + kBad + kBad},
      {"\xFF\xFE", 0, kBad + kBad},
      {"0123456789abcdef\xE9", 16, "0123456789abcdef" + kBad},
      {"\xAC\xE2\x82\xAC\xE2", 0, kBad + "\xE2\x82\xAC" + kBad},
  };
  for (const BrokenCase& broken : cases) {
    EXPECT_EQ(first_invalid_utf8(broken.text), broken.offset)
        << ::testing::PrintToString(broken.text);
    EXPECT_EQ(replace_broken_utf8(broken.text), broken.repaired)
        << ::testing::PrintToString(broken.text);
  }
}

TEST(Utf8, OffsetAfterLongValidText) {
  for (const size_t length : {0, 1, 7, 8, 9, 63, 64, 65}) {
    EXPECT_EQ(first_invalid_utf8(std::string(length, 'x') + "\xFF"), static_cast<int64_t>(length));
  }
}

}  // namespace
}  // namespace retro
