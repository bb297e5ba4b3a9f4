#include "retro/core/wrap_text.h"

#include <gtest/gtest.h>

namespace retro {
namespace {

TEST(WrapText, BreaksAtTheWidthAndIndents) {
  EXPECT_EQ(wrap_text("one two three", 9, "  "), "  one two\n  three\n");
  EXPECT_EQ(wrap_text("one two three", 8, "  "), "  one\n  two\n  three\n");
}

TEST(WrapText, WhiteSpaceOfAnyKindIsOneSpace) {
  EXPECT_EQ(wrap_text("\n a \t\r\n b\n", 80, ""), "a b\n");
}

TEST(WrapText, ALongWordKeepsItsLine) {
  EXPECT_EQ(wrap_text("a bbbbbbbbbb c", 4, ""), "a\nbbbbbbbbbb\nc\n");
}

TEST(WrapText, ColourCodesCountNothingAndCharactersOne) {
  EXPECT_EQ(wrap_text("\x1b[1;32mab\x1b[0m cd", 5, ""), "\x1b[1;32mab\x1b[0m cd\n");
  EXPECT_EQ(wrap_text("äö üß", 5, ""), "äö üß\n");
  EXPECT_EQ(wrap_text("äö üß", 4, ""), "äö\nüß\n");
}

TEST(WrapText, NothingIsAnEmptyLine) { EXPECT_EQ(wrap_text(" \n", 10, "> "), "> \n"); }

}  // namespace
}  // namespace retro
