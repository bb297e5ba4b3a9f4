#include "retro/core/quantized_blocks.h"

#include <cstring>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/gguf.h"
#include "retro/core/safetensors.h"

#include "core/test_support.h"

namespace retro {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

const std::filesystem::path kBlocksFolder = std::filesystem::path(RETRO_TEST_DATA) / "gguf";

std::vector<float> values_of(const char* dtype, const std::vector<uint8_t>& block, size_t count) {
  std::vector<float> values(count);
  dequantize_blocks(dtype, std::as_bytes(std::span(block)), values);
  return values;
}

// Half precision: 0x3C00 is 1, 0x3800 is 0.5, 0xC000 is -2.
TEST(QuantizedBlocks, ByHand) {
  std::vector<uint8_t> q8_0 = {0x00, 0x38};  // scale 0.5
  for (int i = 0; i < 32; ++i) q8_0.push_back(static_cast<uint8_t>(i - 16));
  const auto eight = values_of("Q8_0", q8_0, 32);
  EXPECT_EQ(eight.front(), -8.0f);
  EXPECT_EQ(eight[17], 0.5f);

  std::vector<uint8_t> q4_1 = {0x00, 0x38, 0x00, 0xC0};  // scale 0.5, minimum -2
  for (int i = 0; i < 16; ++i) q4_1.push_back(static_cast<uint8_t>(i | (15 - i) << 4));
  const auto four = values_of("Q4_1", q4_1, 32);
  EXPECT_EQ(four[0], -2.0f);
  EXPECT_EQ(four[15], 5.5f);
  EXPECT_EQ(four[16], 5.5f);
  EXPECT_EQ(four[31], -2.0f);
  EXPECT_EQ(four[3], -0.5f);

  EXPECT_THAT(values_of("BF16", {0x80, 0x3F, 0x00, 0xC0}, 2), ElementsAre(1.0f, -2.0f));
  EXPECT_THAT(values_of("F16", {0x00, 0x3C, 0x00, 0xC0}, 2), ElementsAre(1.0f, -2.0f));
}

class BlockType : public ::testing::TestWithParam<const char*> {};

TEST_P(BlockType, EqualsTheReference) {
  const GgufReader file(kBlocksFolder / "blocks.gguf");
  const SafetensorsReader expected(kBlocksFolder / "blocks.safetensors");
  std::string name = GetParam();
  for (char& letter : name) letter = static_cast<char>(std::tolower(letter));
  const TensorView& tensor = file.tensors().at(name);
  ASSERT_EQ(tensor.dtype, GetParam());
  ASSERT_THAT(tensor.shape, ElementsAre(2, 512));
  std::vector<float> values(1024);
  read_float32(tensor, values, 2);
  const auto wanted = to_float32(expected.tensor(name));
  ASSERT_EQ(wanted.size(), values.size());
  // The same roundings in the same order: equal bits but for the sign of zero.
  for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], wanted[i]) << i;
}

INSTANTIATE_TEST_SUITE_P(Every, BlockType,
                         ::testing::Values("F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0",
                                           "Q5_1", "Q4_K", "Q5_K", "Q6_K"),
                         [](const auto& test) { return std::string(test.param); });

TEST(QuantizedBlocks, LargeTensorIsTheSameOnAnyNumberOfThreads) {
  std::vector<uint8_t> bytes(34 * 9001);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<uint8_t>(i % 34 == 1 ? 0x3C : i * 7);
  const TensorView tensor{"Q8_0", {9001, 32}, std::as_bytes(std::span(bytes))};
  std::vector<float> one(9001 * 32);
  std::vector<float> three(one.size());
  read_float32(tensor, one, 1);
  read_float32(tensor, three, 3);
  EXPECT_EQ(std::memcmp(one.data(), three.data(), one.size() * sizeof(float)), 0);
}

TEST(QuantizedBlocks, Refusals) {
  std::vector<float> values(32);
  const std::vector<std::byte> bytes(34);
  const auto read = [&](const char* dtype, size_t size, size_t count) {
    return error_of([&] {
      dequantize_blocks(dtype, std::span(bytes).first(size), std::span(values).first(count));
    });
  };
  EXPECT_THAT(read("Q8_0", 33, 32), HasSubstr("33 bytes of Q8_0 do not hold 32 values"));
  EXPECT_THAT(read("Q8_0", 34, 31), HasSubstr("34 bytes of Q8_0 do not hold 31 values"));
  EXPECT_THAT(read("I64", 32, 4), HasSubstr("tensor type I64 cannot be read as float32"));
}

}  // namespace
}  // namespace retro
