#include "retro/core/gguf.h"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/gguf_vocabulary.h"
#include "retro/core/json.h"

#include "core/test_support.h"

namespace retro {
namespace {

using testing::damaged_at;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::ScratchDirectory;
using testing::slurp;
using testing::spill;
using ::testing::StartsWith;

const std::filesystem::path kFixture =
    std::filesystem::path(RETRO_TEST_DATA) / "gguf" / "blocks.gguf";

template <class T>
std::string number(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}
std::string text(const std::string& value) { return number(uint64_t{value.size()}) + value; }

std::string header(uint64_t tensors, uint64_t keys, uint32_t version = 3) {
  return "GGUF" + number(version) + number(tensors) + number(keys);
}

/// One tensor "w" of `type` and `shape` (fastest first) at `offset`, and `data` bytes after it.
std::string file_of(const std::vector<uint64_t>& shape, uint32_t type, uint64_t offset,
                    size_t data) {
  std::string file = header(1, 0) + text("w") + number(static_cast<uint32_t>(shape.size()));
  for (const uint64_t size : shape) file += number(size);
  file += number(type) + number(offset);
  file.resize((file.size() + 31) / 32 * 32);
  return file + std::string(data, '\x01');
}

class Gguf : public ::testing::Test {
 protected:
  std::string refusal(const std::string& bytes) {
    const std::string path = (scratch_ / "f.gguf").string();
    spill(path, bytes);
    const std::string message = error_of([&] { GgufReader reader(path); });
    EXPECT_THAT(message, StartsWith(path + ": "));
    return message;
  }
  ScratchDirectory scratch_;
};

TEST_F(Gguf, EveryValueTypeOfTheReferenceWriter) {
  const GgufReader file(kFixture);
  const auto& metadata = file.metadata();
  EXPECT_EQ(metadata["general.architecture"], "test");
  EXPECT_EQ(metadata["test.uint8"], 255);
  EXPECT_EQ(metadata["test.int8"], -128);
  EXPECT_EQ(metadata["test.uint16"], 65535);
  EXPECT_EQ(metadata["test.int16"], -32768);
  EXPECT_EQ(metadata["test.uint32"], 4294967295U);
  EXPECT_EQ(metadata["test.int32"], -2147483648LL);
  EXPECT_EQ(metadata["test.float32"].get<float>(), 0.1f);
  EXPECT_EQ(metadata["test.bool"], true);
  EXPECT_EQ(metadata["test.string"], "naïve \u2581");
  EXPECT_EQ(metadata["test.uint64"], 18446744073709551615ULL);
  EXPECT_EQ(metadata["test.int64"], std::numeric_limits<int64_t>::min());
  EXPECT_EQ(metadata["test.float64"].get<double>(), 0.1);
  EXPECT_EQ(metadata["test.numbers"], nlohmann::json({1, -2, 3}));
  EXPECT_EQ(metadata["test.texts"], nlohmann::json({"a", "", "bc"}));
  EXPECT_EQ(metadata["test.flags"], nlohmann::json({true, false}));
  EXPECT_EQ(json_get<int64_t>(metadata, "test.uint8", "f"), 255);
}

TEST_F(Gguf, ShapesAreRowMajor) {
  spill(scratch_ / "w.gguf", file_of({3, 2}, 0, 0, 24));
  const GgufReader file(scratch_ / "w.gguf");
  EXPECT_THAT(file.tensors().at("w").shape, ElementsAre(2, 3));
  EXPECT_EQ(file.tensors().at("w").bytes.size(), 24U);
  EXPECT_TRUE(is_gguf_file(scratch_ / "w.gguf"));
}

TEST_F(Gguf, NestedArraysAndVersionTwo) {
  const std::string inner = number(uint32_t{4}) + number(uint64_t{1}) + number(uint32_t{7});
  spill(scratch_ / "v2", header(0, 1, 2) + text("k") + number(uint32_t{9}) + number(uint32_t{9}) +
                             number(uint64_t{2}) + inner + inner);
  const GgufReader file(scratch_ / "v2");
  EXPECT_EQ(file.metadata()["k"].dump(), "[[7],[7]]");
}

TEST_F(Gguf, Refusals) {
  EXPECT_THAT(refusal(""), HasSubstr("not a GGUF file (0 bytes)"));
  EXPECT_THAT(refusal("GGUX" + std::string(20, '\0')), HasSubstr("not a GGUF file"));
  EXPECT_THAT(refusal(header(0, 0, 1)), HasSubstr("GGUF version 1; versions 2 and 3 are read"));
  EXPECT_THAT(refusal(header(0, 0, 3U << 24)), HasSubstr("a big-endian file"));
  EXPECT_THAT(refusal(file_of({32}, 10, 0, 64)),
              HasSubstr("tensor `w` is Q2_K, which is not supp"));
  EXPECT_THAT(refusal(file_of({32}, 99, 0, 64)), HasSubstr("tensor `w` is type 99"));
  EXPECT_THAT(refusal(file_of({31}, 8, 0, 64)),
              HasSubstr("rows of 31 elements are no whole blocks"));
  EXPECT_THAT(refusal(file_of({32}, 8, 0, 33)),
              HasSubstr("truncated: tensor `w` needs bytes 0 to 34 of the data, which has 33"));
  EXPECT_THAT(refusal(file_of({32}, 8, 8, 64)), HasSubstr("offset 8 is no multiple of 32"));
  EXPECT_THAT(refusal(file_of({32}, 8, ~uint64_t{31}, 64)), HasSubstr("truncated: tensor `w`"));
  EXPECT_THAT(refusal(file_of({1ULL << 40, 1ULL << 40}, 0, 0, 64)),
              HasSubstr("shape is too large"));
  EXPECT_THAT(refusal(file_of({1, 1, 1, 1, 1}, 0, 0, 64)), HasSubstr("has 5 dimensions"));
  EXPECT_THAT(refusal(header(0, 1) + text("k") + number(uint32_t{13})),
              HasSubstr("key `k`: value type 13 is unknown"));
  EXPECT_THAT(refusal(header(0, 1) + text("k") + number(uint32_t{9}) + number(uint32_t{4}) +
                      number(uint64_t{1} << 60)),
              HasSubstr("key `k`: truncated: an array of"));
  EXPECT_THAT(refusal(header(0, 1) + number(uint64_t{1} << 62)), HasSubstr("truncated at byte 32"));
  const std::string twice = text("k") + number(uint32_t{7}) + number(uint8_t{1});
  EXPECT_THAT(refusal(header(0, 2) + twice + twice), HasSubstr("key `k` stands twice"));
}

TEST_F(Gguf, EveryTruncationIsRefused) {
  const std::string whole = slurp(kFixture);
  // The last tensor, of 840 bytes, is followed by 24 bytes of padding.
  const size_t end_of_data = whole.size() - 24;
  for (size_t size = 0; size < end_of_data; size += 61) (void)refusal(whole.substr(0, size));
  EXPECT_THAT(refusal(whole.substr(0, end_of_data - 1)), HasSubstr("truncated: tensor `q6_k`"));
  spill(scratch_ / "without padding", whole.substr(0, end_of_data));
  EXPECT_EQ(GgufReader(scratch_ / "without padding").tensors().size(), 11U);
}

TEST_F(Gguf, DamagedBytesOfTheHeaderAreReadOrRefused) {
  const std::string whole = slurp(kFixture);
  const std::string path = (scratch_ / "damaged").string();
  int num_refused = 0;
  for (size_t i = 0; i < 2500; i += 11) {
    for (const std::string& damaged : damaged_at(whole, i)) {
      spill(path, damaged);
      try {
        const GgufReader reader(path);
        for (const auto& [name, tensor] : reader.tensors())
          ASSERT_LE(tensor.bytes.size(), damaged.size());
      } catch (const Error&) {
        ++num_refused;
      }
    }
  }
  EXPECT_GT(num_refused, 50);
}

TEST_F(Gguf, Vocabulary) {
  const GgufVocabulary vocabulary = read_gguf_vocabulary(GgufReader(kFixture));
  EXPECT_EQ(vocabulary.model, "gpt2");
  EXPECT_EQ(vocabulary.pre_tokenizer, "smollm");
  EXPECT_THAT(vocabulary.pieces, ElementsAre("<|end|>", "a", "b", "ab"));
  EXPECT_THAT(vocabulary.types, ElementsAre(3, 1, 1, 1));
  EXPECT_THAT(vocabulary.scores, ElementsAre(0.0f, -1.0f, -2.0f, -3.5f));
  EXPECT_THAT(vocabulary.merges, ElementsAre("a b"));
  EXPECT_EQ(vocabulary.end_id, 0);
  EXPECT_EQ(vocabulary.begin_id, -1);
}

TEST_F(Gguf, VocabularyThatDoesNotFit) {
  const auto refused = [&](const std::string& keys, uint64_t count) {
    spill(scratch_ / "v", header(0, count) + keys);
    return error_of([&] { read_gguf_vocabulary(GgufReader(scratch_ / "v")); });
  };
  const std::string model = text("tokenizer.ggml.model") + number(uint32_t{8}) + text("gpt2");
  const std::string tokens = text("tokenizer.ggml.tokens") + number(uint32_t{9}) +
                             number(uint32_t{8}) + number(uint64_t{1}) + text("a");
  const std::string types = text("tokenizer.ggml.token_type") + number(uint32_t{9}) +
                            number(uint32_t{5}) + number(uint64_t{2}) + number(uint64_t{0});
  const std::string end = text("tokenizer.ggml.eos_token_id") + number(uint32_t{4}) + number(1U);
  EXPECT_THAT(refused("", 0), HasSubstr("has no tokenizer"));
  EXPECT_THAT(refused(model, 1), HasSubstr("`tokenizer.ggml.tokens` is missing or empty"));
  EXPECT_THAT(refused(model + tokens + types, 3),
              HasSubstr("`tokenizer.ggml.token_type` has 2 entries for 1 pieces"));
  EXPECT_THAT(refused(model + tokens + end, 3),
              HasSubstr("`tokenizer.ggml.eos_token_id` is 1, the vocabulary has 1 pieces"));
}

}  // namespace
}  // namespace retro
