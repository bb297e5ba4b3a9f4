#include "retro/core/hash.h"

#include <string>

#include <gtest/gtest.h>

#include "core/test_support.h"

namespace retro {
namespace {

using testing::error_of;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// Values of the reference implementation (xxh128sum).
TEST(Hash, EqualsXxh128sum) {
  EXPECT_EQ(hash_text(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(hash_text("abc"), "06b05ab6733a618578af5f94892f3950");
}

TEST(Hash, PiecesGiveTheHashOfTheWhole) {
  Hasher hasher;
  hasher.add_bytes(bytes_of("a")).add_bytes(bytes_of("bc"));
  EXPECT_EQ(hasher.hex(), "06b05ab6733a618578af5f94892f3950");
  EXPECT_EQ(hasher.hex(), "06b05ab6733a618578af5f94892f3950") << "asking must not change the state";
}

TEST(Hash, TextsKeepTheirBorders) {
  EXPECT_NE(Hasher().add("ab").add("c").hex(), Hasher().add("a").add("bc").hex());
  EXPECT_NE(Hasher().add("ab").hex(), Hasher().add("ab").add("").hex());
}

TEST(Hash, NumbersAreEightLittleEndianBytes) {
  const std::string bytes("\x02\x01\0\0\0\0\0\0", 8);
  EXPECT_EQ(Hasher().add(0x0102).hex(), hash_text(bytes));
}

TEST(Hash, FileEqualsItsTextAcrossBlocks) {
  const testing::ScratchDirectory scratch;
  std::string text;
  for (int i = 0; text.size() < (3u << 20); ++i) text += std::to_string(i) + ",";
  testing::spill(scratch / "long", text);
  testing::spill(scratch / "empty", "");
  EXPECT_EQ(hash_file(scratch / "long"), hash_text(text));
  EXPECT_EQ(hash_file(scratch / "empty"), "99aa06d3014798d86001c324468d497f");
}

TEST(Hash, MissingFileIsNamed) {
  const std::string message = error_of([] { hash_file("/nowhere/at/all"); });
  EXPECT_EQ(message, "/nowhere/at/all: cannot read: No such file or directory");
}

// FIPS 180 examples: a9993e364706816a..., 84983e441c3bd26e..., 34aa973cd4c4daa4...; and the empty
// text.
TEST(Sha1, PublishedExamples) {
  EXPECT_EQ(sha1_prefix("abc"), 0xa9993e364706816aU);
  EXPECT_EQ(sha1_prefix("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            0x84983e441c3bd26eU);
  EXPECT_EQ(sha1_prefix(std::string(1'000'000, 'a')), 0x34aa973cd4c4daa4U);
  EXPECT_EQ(sha1_prefix(""), 0xda39a3ee5e6b4b0dU);
}

// Values of Python's hashlib: the padding changes form between 55 and 56 bytes, and at whole
// blocks.
TEST(Sha1, LengthsAroundTheBlockBorder) {
  EXPECT_EQ(sha1_prefix(std::string(55, 'x')), 0xcef734ba81a02447U);
  EXPECT_EQ(sha1_prefix(std::string(56, 'x')), 0x901305367c259952U);
  EXPECT_EQ(sha1_prefix(std::string(63, 'x')), 0x0ddc4e0cccd9a128U);
  EXPECT_EQ(sha1_prefix(std::string(64, 'x')), 0xbb2fa3ee7afb9f54U);
  EXPECT_EQ(sha1_prefix(std::string(65, 'x')), 0x78c741ddc482e4cdU);
}

}  // namespace
}  // namespace retro
