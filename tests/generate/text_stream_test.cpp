#include "retro/generate/text_stream.h"

#include <vector>

#include <gtest/gtest.h>

namespace retro {
namespace {

const std::string kReplacement = "\xEF\xBF\xBD";

std::vector<std::string> pushed(const std::vector<std::string>& parts) {
  Utf8Stream stream;
  std::vector<std::string> out;
  for (const std::string& part : parts) out.push_back(stream.push(part));
  out.push_back(stream.finish());
  return out;
}

TEST(Utf8StreamTest, CharactersWaitForTheirLastByte) {
  // U+00E9, U+20AC, U+1F600 byte by byte.
  EXPECT_EQ(pushed({"\xC3", "\xA9"}), (std::vector<std::string>{"", "\xC3\xA9", ""}));
  EXPECT_EQ(pushed({"a\xE2", "\x82",
                    "\xAC"
                    "b"}),
            (std::vector<std::string>{"a", "",
                                      "\xE2\x82\xAC"
                                      "b",
                                      ""}));
  EXPECT_EQ(pushed({"\xF0", "\x9F", "\x98", "\x80"}),
            (std::vector<std::string>{"", "", "", "\xF0\x9F\x98\x80", ""}));
}

TEST(Utf8StreamTest, BytesThatCannotBecomeValidDoNotWait) {
  EXPECT_EQ(pushed({"\xFF"})[0], kReplacement);
  EXPECT_EQ(pushed({"\x80"})[0], kReplacement);
  // Overlong form, surrogate, above U+10FFFF: the second byte already decides.
  EXPECT_NE(pushed({"\xE0\x80"})[0], "");
  EXPECT_NE(pushed({"\xED\xA0"})[0], "");
  EXPECT_NE(pushed({"\xF4\x90"})[0], "");
}

TEST(Utf8StreamTest, AnInterruptedCharacterIsReplaced) {
  const auto out = pushed({"\xE2\x82", "a"});
  EXPECT_EQ(out[0], "");
  EXPECT_TRUE(out[1].ends_with("a"));
  EXPECT_TRUE(out[1].starts_with(kReplacement));
  const auto unfinished = pushed({"x\xC3"});
  EXPECT_EQ(unfinished[0], "x");
  EXPECT_EQ(unfinished[1], kReplacement);
}

TEST(Utf8StreamTest, NothingIsLostOrInvented) {
  const std::string text = "na\xC3\xAFve \xE2\x82\xAC 10 \xF0\x9F\x98\x80!";
  for (size_t step = 1; step <= 5; ++step) {
    Utf8Stream stream;
    std::string joined;
    for (size_t begin = 0; begin < text.size(); begin += step)
      joined += stream.push(text.substr(begin, step));
    EXPECT_EQ(joined + stream.finish(), text);
  }
}

}  // namespace
}  // namespace retro
