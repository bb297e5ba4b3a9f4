#include "retro/core/array_file.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/test_support.h"

namespace retro {
namespace {

using testing::damaged_at;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using testing::error_of;
using ::testing::HasSubstr;
using testing::slurp;
using testing::spill;
using ::testing::StartsWith;

constexpr std::string_view kSource = "0123456789abcdef0123456789abcdef";

class ArrayFileTest : public ::testing::Test {
 protected:
  /// Two rows of three numbers.
  void write_pairs(const std::filesystem::path& path) {
    ArrayFileWriter writer(path, {.kind = "pairs",
                                  .version = 7,
                                  .type = ArrayType::kUint16,
                                  .columns = 3,
                                  .source_hash = std::string(kSource)});
    const std::vector<uint16_t> first{1, 2, 3, 4};
    const std::vector<uint16_t> second{5, 0x1234};
    writer.append(std::span<const uint16_t>(first));
    EXPECT_EQ(writer.rows(), 1U) << "whole rows";
    writer.append(std::span<const uint16_t>(second));
    EXPECT_EQ(writer.rows(), 2U);
    writer.commit();
  }

  std::string refusal(const ArrayFile::Expected& expected) {
    const auto path = scratch_ / "a";
    const std::string message = error_of([&] { ArrayFile(path, expected); });
    EXPECT_THAT(message, StartsWith(path.string() + ": "));
    return message.substr(std::min(message.size(), path.string().size() + 2));
  }

  testing::ScratchDirectory scratch_;
};

template <class T>
T number_at(const std::string& bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// The layout of docs/formats.md, byte by byte.
TEST_F(ArrayFileTest, LayoutOnDisk) {
  write_pairs(scratch_ / "a");
  const std::string bytes = slurp(scratch_ / "a");
  ASSERT_EQ(bytes.size(), 128U + 12U);
  EXPECT_EQ(bytes.substr(0, 8), "RETROARR");
  EXPECT_EQ(number_at<uint32_t>(bytes, 8), 1U);
  EXPECT_EQ(number_at<uint32_t>(bytes, 12), 128U);
  EXPECT_EQ(bytes.substr(16, 16), std::string("pairs") + std::string(11, '\0'));
  EXPECT_EQ(number_at<uint32_t>(bytes, 32), 7U);
  EXPECT_EQ(number_at<uint32_t>(bytes, 36), 2U);
  EXPECT_EQ(number_at<uint64_t>(bytes, 40), 2U);
  EXPECT_EQ(number_at<uint64_t>(bytes, 48), 3U);
  EXPECT_EQ(number_at<uint64_t>(bytes, 56), 12U);
  EXPECT_EQ(bytes.substr(64, 32), kSource);
  EXPECT_EQ(bytes.substr(104, 16), std::string(16, '\0'));
  // Computed by Python's xxhash from the bytes above.
  EXPECT_EQ(number_at<uint64_t>(bytes, 96), 0xe50be50f6436896bU);
  EXPECT_EQ(number_at<uint64_t>(bytes, 120), 0x7bb1e9fdd3522211U);
  EXPECT_EQ(bytes.substr(128), std::string("\x01\0\x02\0\x03\0\x04\0\x05\0\x34\x12", 12));
}

TEST_F(ArrayFileTest, ReadsBack) {
  write_pairs(scratch_ / "a");
  const ArrayFile file(scratch_ / "a", {.kind = "pairs",
                                        .type = ArrayType::kUint16,
                                        .version = 7,
                                        .source_hash = kSource,
                                        .columns = 3});
  EXPECT_EQ(file.rows(), 2U);
  EXPECT_EQ(file.columns(), 3U);
  EXPECT_EQ(file.header().source_hash, kSource);
  EXPECT_THAT(file.values<uint16_t>(), ElementsAre(1, 2, 3, 4, 5, 0x1234));
  EXPECT_THAT(file.row<uint16_t>(1), ElementsAre(4, 5, 0x1234));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(file.payload().data()) % 64, 0U);
  EXPECT_NO_THROW(file.verify());
  EXPECT_THAT(error_of([&] { file.values<float>(); }), HasSubstr("uint16"));
}

TEST_F(ArrayFileTest, MovedFileKeepsItsView) {
  write_pairs(scratch_ / "a");
  ArrayFile file(scratch_ / "a", {.kind = "pairs", .type = ArrayType::kUint16, .version = 7});
  const ArrayFile moved(std::move(file));
  EXPECT_THAT(moved.row<uint16_t>(0), ElementsAre(1, 2, 3));
}

TEST_F(ArrayFileTest, EmptyArray) {
  ArrayFileWriter writer(scratch_ / "a",
                         {.kind = "keys", .type = ArrayType::kFloat32, .columns = 384});
  writer.commit();
  const ArrayFile file(scratch_ / "a", {.kind = "keys", .type = ArrayType::kFloat32});
  EXPECT_EQ(file.rows(), 0U);
  EXPECT_EQ(file.columns(), 384U);
  EXPECT_TRUE(file.values<float>().empty());
  EXPECT_EQ(file.header().source_hash, "");
}

TEST_F(ArrayFileTest, HalfPrecisionIsHandledAsBits) {
  ArrayFileWriter writer(scratch_ / "a", {.kind = "keys", .type = ArrayType::kFloat16});
  const std::vector<uint16_t> bits{0x3c00};
  writer.append(std::span<const uint16_t>(bits));
  writer.commit();
  const ArrayFile file(scratch_ / "a", {.kind = "keys", .type = ArrayType::kFloat16});
  EXPECT_THAT(file.values<uint16_t>(), ElementsAre(0x3c00));
}

TEST_F(ArrayFileTest, SourceHashMayComeLate) {
  ArrayFileWriter writer(scratch_ / "a", {.kind = "keys", .type = ArrayType::kUint8});
  writer.set_source_hash(std::string(kSource));
  writer.commit();
  EXPECT_NO_THROW(ArrayFile(scratch_ / "a",
                            {.kind = "keys", .type = ArrayType::kUint8, .source_hash = kSource}));
}

TEST_F(ArrayFileTest, WriterRefusals) {
  EXPECT_THAT(error_of([&] { ArrayFileWriter(scratch_ / "a", {.kind = "sixteen letters!"}); }),
              HasSubstr("15 bytes"));
  EXPECT_THAT(error_of([&] { ArrayFileWriter(scratch_ / "a", {.kind = ""}); }), HasSubstr("kind"));
  EXPECT_THAT(error_of([&] { ArrayFileWriter(scratch_ / "a", {.kind = "k", .columns = 0}); }),
              HasSubstr("columns"));
  EXPECT_THAT(
      error_of([&] { ArrayFileWriter(scratch_ / "a", {.kind = "k", .source_hash = "abc"}); }),
      HasSubstr("32 digits"));
  ArrayFileWriter writer(scratch_ / "a", {.kind = "k", .type = ArrayType::kUint16, .columns = 2});
  const std::vector<float> floats{1};
  EXPECT_THAT(error_of([&] { writer.append(std::span<const float>(floats)); }),
              HasSubstr("uint16"));
  const std::vector<uint16_t> half_a_row{1};
  writer.append(std::span<const uint16_t>(half_a_row));
  EXPECT_THAT(error_of([&] { writer.commit(); }), HasSubstr("no whole rows"));
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "a"));
}

TEST_F(ArrayFileTest, ForeignAndStaleFilesAreRefusedInOneLine) {
  write_pairs(scratch_ / "a");
  const ArrayFile::Expected good{.kind = "pairs", .type = ArrayType::kUint16, .version = 7};
  ArrayFile::Expected other = good;
  other.kind = "tokens";
  EXPECT_EQ(refusal(other), "holds `pairs`, not `tokens`");
  other = good;
  other.version = 8;
  other.rebuild = "run `retro corpus` again";
  EXPECT_EQ(refusal(other), "version 7 of `pairs`, this program reads 8; run `retro corpus` again");
  other = good;
  other.type = ArrayType::kInt64;
  EXPECT_EQ(refusal(other), "values of type uint16, expected int64");
  other = good;
  other.columns = 2;
  EXPECT_EQ(refusal(other), "3 columns, expected 2");
  other = good;
  other.source_hash = "ffffffffffffffffffffffffffffffff";
  other.rebuild = "rebuild it";
  EXPECT_EQ(refusal(other),
            "made from other data (source hash 0123456789abcdef0123456789abcdef, expected "
            "ffffffffffffffffffffffffffffffff); rebuild it");
}

TEST_F(ArrayFileTest, OtherKindsOfFilesAreRefused) {
  const ArrayFile::Expected expected{.kind = "pairs", .type = ArrayType::kUint16, .version = 7};
  spill(scratch_ / "a", std::string(500, 'x'));
  EXPECT_EQ(refusal(expected), "not an array file of retro");
  spill(scratch_ / "a", "");
  EXPECT_THAT(refusal(expected), StartsWith("truncated: 0 bytes"));
}

/// A header without values whose checksum (computed by Python's xxhash) is right.
std::string header_bytes(uint64_t rows, uint64_t columns, uint64_t checksum) {
  std::string bytes(128, '\0');
  const uint32_t fields[] = {1, 128};
  const uint32_t version_and_type[] = {7, 2};
  bytes.replace(0, 8, "RETROARR");
  std::memcpy(bytes.data() + 8, fields, sizeof fields);
  bytes.replace(16, 5, "pairs");
  std::memcpy(bytes.data() + 32, version_and_type, sizeof version_and_type);
  std::memcpy(bytes.data() + 40, &rows, sizeof rows);
  std::memcpy(bytes.data() + 48, &columns, sizeof columns);
  std::memcpy(bytes.data() + 120, &checksum, sizeof checksum);
  return bytes;
}

// 2^63 x 2 and 2^62 x 4 values of two bytes are 0 modulo 2^64.
TEST_F(ArrayFileTest, CountsThatOverflowAreRefused) {
  const ArrayFile::Expected expected{.kind = "pairs", .type = ArrayType::kUint16, .version = 7};
  spill(scratch_ / "a", header_bytes(uint64_t{1} << 63, 2, 0x591294208ba27a89U));
  EXPECT_EQ(refusal(expected), "9223372036854775808 rows of 2 columns do not make 0 bytes");
  spill(scratch_ / "a", header_bytes(uint64_t{1} << 62, 4, 0xea9a6087bf2755daU));
  EXPECT_EQ(refusal(expected), "4611686018427387904 rows of 4 columns do not make 0 bytes");
  spill(scratch_ / "a", header_bytes(5, 0, 0x9bfa9a060e1669dbU));
  EXPECT_EQ(refusal(expected), "5 rows of 0 columns do not make 0 bytes");
}

TEST_F(ArrayFileTest, EveryTruncationIsRefused) {
  write_pairs(scratch_ / "a");
  const std::string bytes = slurp(scratch_ / "a");
  for (size_t size = 0; size < bytes.size(); ++size) {
    spill(scratch_ / "a", bytes.substr(0, size));
    EXPECT_THAT(refusal({.kind = "pairs", .type = ArrayType::kUint16, .version = 7}),
                StartsWith("truncated"));
  }
  spill(scratch_ / "a", bytes + "x");
  EXPECT_THAT(refusal({.kind = "pairs", .type = ArrayType::kUint16, .version = 7}),
              StartsWith("too long"));
}

TEST_F(ArrayFileTest, EveryDamagedByteOfTheHeaderIsRefused) {
  write_pairs(scratch_ / "a");
  const std::string bytes = slurp(scratch_ / "a");
  for (size_t i = 0; i < 128; ++i) {
    for (const std::string& damaged : damaged_at(bytes, i)) {
      spill(scratch_ / "a", damaged);
      EXPECT_NE(refusal({.kind = "pairs", .type = ArrayType::kUint16, .version = 7}), "") << i;
    }
  }
}

TEST_F(ArrayFileTest, VerifyFindsEveryDamagedByteOfTheValues) {
  write_pairs(scratch_ / "a");
  const std::string bytes = slurp(scratch_ / "a");
  for (size_t i = 128; i < bytes.size(); ++i) {
    for (const std::string& damaged : damaged_at(bytes, i)) {
      spill(scratch_ / "a", damaged);
      const ArrayFile file(scratch_ / "a",
                           {.kind = "pairs", .type = ArrayType::kUint16, .version = 7});
      EXPECT_THAT(error_of([&] { file.verify(); }),
                  StartsWith((scratch_ / "a").string() + ": damaged"))
          << i;
    }
  }
}

}  // namespace
}  // namespace retro
