#include "segment_cutter.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>

namespace retro {
namespace {

using ::testing::ElementsAre;

constexpr size_t kLimit = 16384;
const std::vector<std::string> kWordPieces = {"a", " a", "\n", "   ", "ab"};

std::vector<std::string> cut(const std::vector<std::string>& pieces, std::string_view text) {
  const SegmentCutter cutter(pieces);
  std::vector<std::string> segments;
  while (!text.empty()) {
    const size_t length = cutter.next_segment(text);
    if (length == 0) return {"stuck"};
    segments.emplace_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return segments;
}

TEST(SegmentCutter, LinesKeepTheirNewline) {
  EXPECT_THAT(cut(kWordPieces, "one\n\ntwo\n"), ElementsAre("one\n", "\n", "two\n"));
  EXPECT_THAT(cut(kWordPieces, "x"), ElementsAre("x"));
}

TEST(SegmentCutter, NoCutWhereAPieceMaySpan) {
  EXPECT_THAT(cut({"a\n", "b"}, "one\ntwo"), ElementsAre("one\ntwo"));
  EXPECT_THAT(cut({"\n\n"}, "one\ntwo"), ElementsAre("one\ntwo"));
}

TEST(SegmentCutter, ARawSpaceSymbolStandsAlone) {
  EXPECT_THAT(cut(kWordPieces,
                  "a\xE2\x96\x81\xE2\x96\x81"
                  "b"),
              ElementsAre("a", "\xE2\x96\x81", "\xE2\x96\x81", "b"));
}

TEST(SegmentCutter, LongLinesEndBeforeASpace) {
  const std::string word(10'000, 'x');
  EXPECT_THAT(cut(kWordPieces, word + " " + word), ElementsAre(word, " " + word));
  EXPECT_THAT(cut(kWordPieces, word + "   " + word),
              ElementsAre(word, "   " + word));  // not inside the spaces
  // A piece " a b" may span the place, so the limit decides.
  const auto segments = cut({"a b"}, word + " " + word);
  ASSERT_EQ(segments.size(), 2U);
  EXPECT_EQ(segments[0].size(), kLimit);
}

TEST(SegmentCutter, SizesAroundTheLimit) {
  for (const size_t size : {kLimit - 1, kLimit})
    EXPECT_EQ(cut(kWordPieces, std::string(size, 'x')).size(), 1U);
  EXPECT_THAT(cut(kWordPieces, std::string(kLimit + 1, 'x')),
              ElementsAre(std::string(kLimit, 'x'), "x"));
  EXPECT_THAT(cut(kWordPieces, std::string(kLimit - 1, 'x') + "\ny"),
              ElementsAre(std::string(kLimit - 1, 'x') + "\n", "y"));
  EXPECT_THAT(cut(kWordPieces, std::string(kLimit, 'x') + "\ny"),
              ElementsAre(std::string(kLimit, 'x'), "\n", "y"));
}

TEST(SegmentCutter, NeverInsideACharacter) {
  for (size_t lead = 0; lead < 4; ++lead) {
    std::string text(lead, 'x');
    while (text.size() < 3 * kLimit) text += "\xF0\x9F\x98\x80";
    for (const std::string& segment : cut(kWordPieces, text)) {
      EXPECT_TRUE(segment[0] == 'x' || segment[0] == '\xF0');
      EXPECT_LE(segment.size(), kLimit);
    }
  }
}

TEST(SegmentCutter, ASpaceSymbolAcrossTheLimit) {
  for (size_t size = kLimit - 3; size <= kLimit + 1; ++size) {
    const std::string text = std::string(size, 'x') +
                             "\xE2\x96\x81"
                             "y";
    std::string joined;
    for (const std::string& segment : cut(kWordPieces, text)) {
      EXPECT_TRUE(segment == "\xE2\x96\x81" || segment.find('\xE2') == segment.npos) << size;
      joined += segment;
    }
    EXPECT_EQ(joined, text);
  }
}

}  // namespace
}  // namespace retro
