#include "retro/text/byte_bpe_tokenizer.h"

#include <fstream>
#include <numeric>
#include <thread>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <zlib.h>

#include "retro/core/random.h"
#include "retro/core/utf8.h"

#include "core/test_support.h"

namespace retro {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Type = ByteBpeModel::Type;

const std::filesystem::path kData = std::filesystem::path(RETRO_TEST_DATA) / "byte_bpe";
const std::filesystem::path kSmolLm2 =
    std::filesystem::path(RETRO_DEPS_DIR) / "smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf";

/// The pre-tokenizer of a column of lines.jsonl.
PreTokenizer pre_tokenizer_of(const std::string& column) {
  if (column == "llama3") return {WordPattern::kLlama3};
  if (column == "qwen2") return {WordPattern::kLlama3, false, 1};
  if (column == "digits") return {WordPattern::kGpt2, true};
  return {WordPattern::kGpt2};
}

ByteBpeTokenizer small_tokenizer(const std::string& column = "gpt2") {
  ByteBpeModel model = read_tokenizer_json(kData / "tokenizer.json");
  model.pre_tokenizer = pre_tokenizer_of(column);
  return ByteBpeTokenizer(std::move(model));
}

std::vector<nlohmann::json> fixture_lines() {
  std::vector<nlohmann::json> lines;
  std::ifstream file(kData / "lines.jsonl");
  for (std::string line; std::getline(file, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

/// Ids 0 to 3 are the letters, 4 "ab", 5 "bc", 6 "abab", 7 the end.
ByteBpeModel hand_made() {
  ByteBpeModel model;
  model.name = "hand";
  for (const char* piece : {"a", "b", "c", "\u0120", "ab", "bc", "abab"})
    model.pieces.push_back({piece, Type::kNormal});
  model.pieces.push_back({"<|endoftext|>", Type::kSpecial});
  model.merges = {{"b", "c"}, {"a", "b"}, {"ab", "ab"}};
  return model;
}

TEST(ByteBpe, MergesByHand) {
  const ByteBpeTokenizer tokenizer(hand_made());
  // "bc" is better than "ab", so that abc is a + bc.
  EXPECT_THAT(tokenizer.encode("abc").ids, ElementsAre(0, 5));
  EXPECT_THAT(tokenizer.encode("abc").bytes, ElementsAre(1, 2));
  EXPECT_THAT(tokenizer.encode("ababab").ids, ElementsAre(6, 4));
  EXPECT_THAT(tokenizer.encode("ab ab").ids, ElementsAre(4, 3, 4));
  EXPECT_THAT(tokenizer.encode("").ids, IsEmpty());
  EXPECT_EQ(tokenizer.vocabulary_size(), 8);
  EXPECT_EQ(tokenizer.end_of_document(), 7);
  EXPECT_EQ(tokenizer.piece(3), "\u0120");
  EXPECT_EQ(tokenizer.find_piece("abab"), 6);
  EXPECT_EQ(tokenizer.find_piece("x"), -1);
  EXPECT_EQ(tokenizer.decode(std::vector<int32_t>{6, 3, 5, 7}), "abab bc");
}

TEST(ByteBpe, WholeWordsWhereTheModelPrefersThem) {
  ByteBpeModel model = hand_made();
  model.pieces.push_back({"cab", Type::kNormal});  // no merge leads to it
  EXPECT_THAT(ByteBpeTokenizer(model).encode("cab").ids, ElementsAre(2, 4));
  model.prefers_whole_words = true;
  EXPECT_THAT(ByteBpeTokenizer(model).encode("cab").ids, ElementsAre(8));
}

TEST(ByteBpe, SpecialTokensComeFromTextOnlyWhenAsked) {
  ByteBpeModel model = hand_made();
  model.pieces.push_back({"<ab>", Type::kSpecial});
  model.pieces.push_back({"bcb", Type::kAdded});
  const ByteBpeTokenizer tokenizer(model);
  EXPECT_THAT(tokenizer.encode("abcba").ids, ElementsAre(0, 9, 0));
  EXPECT_THAT(error_of([&] { tokenizer.encode("a<ab>"); }),
              HasSubstr("no token for byte 3C, which the text has at byte 1"));
  const EncodedText asked = tokenizer.encode_with_special("a<ab>ab<|endoftext|>");
  EXPECT_THAT(asked.ids, ElementsAre(0, 8, 4, 7));
  EXPECT_THAT(asked.bytes, ElementsAre(1, 4, 2, 13));
  EXPECT_EQ(tokenizer.decode(asked.ids), "aab");
}

class Column : public ::testing::TestWithParam<const char*> {};

TEST_P(Column, HardLinesGiveTheReferenceIds) {
  const ByteBpeTokenizer tokenizer = small_tokenizer(GetParam());
  int num_lines = 0;
  for (const auto& line : fixture_lines()) {
    const auto text = line["text"].get<std::string>();
    const EncodedText encoded = tokenizer.encode(text);
    EXPECT_EQ(encoded.ids, line[GetParam()].get<std::vector<int32_t>>()) << line["text"];
    EXPECT_EQ(tokenizer.decode(encoded.ids), text);
    EXPECT_EQ(std::accumulate(encoded.bytes.begin(), encoded.bytes.end(), size_t{0}), text.size());
    ++num_lines;
  }
  EXPECT_GE(num_lines, 500);
}

INSTANTIATE_TEST_SUITE_P(Every, Column, ::testing::Values("gpt2", "llama3", "qwen2", "digits"),
                         [](const auto& test) { return std::string(test.param); });

TEST(ByteBpe, HardLinesGiveTheReferenceIdsOfSmolLm2) {
  if (!std::filesystem::exists(kSmolLm2)) GTEST_SKIP() << "fetched by tools/setup.sh --llm";
  const ByteBpeTokenizer tokenizer(read_gguf_byte_bpe(GgufReader(kSmolLm2)));
  EXPECT_EQ(tokenizer.vocabulary_size(), 49152);
  EXPECT_EQ(tokenizer.end_of_document(), 0);
  EXPECT_EQ(tokenizer.find_piece("<|im_end|>"), 2);
  int num_refused = 0;
  for (const auto& line : fixture_lines()) {
    const auto text = line["text"].get<std::string>();
    if (line["smollm2"].is_null()) {
      EXPECT_THAT(error_of([&] { tokenizer.encode(text); }), HasSubstr("has no token for byte"));
      ++num_refused;
      continue;
    }
    const EncodedText encoded = tokenizer.encode(text);
    EXPECT_EQ(encoded.ids, line["smollm2"].get<std::vector<int32_t>>()) << line["text"];
    EXPECT_EQ(tokenizer.decode(encoded.ids), text);
  }
  EXPECT_EQ(num_refused, 3);
}

uLong add_ids(uLong crc, const std::vector<int32_t>& ids) {
  std::string line;
  for (const int32_t id : ids) line += (line.empty() ? "" : " ") + std::to_string(id);
  line += "\n";
  return crc32(crc, reinterpret_cast<const Bytef*>(line.data()), static_cast<uInt>(line.size()));
}

/// CRC-32 of the ids of "aC1 C\n" for the 4,096 characters C from `first`, surrogates left out.
uLong block_checksum(uLong crc, const ByteBpeTokenizer& tokenizer, char32_t first) {
  for (char32_t c = first; c < first + 4096; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text = "a";
    append_utf8(text, c);
    text += "1 ";
    append_utf8(text, c);
    crc = add_ids(crc, tokenizer.encode(text + "\n").ids);
  }
  return crc;
}

TEST(ByteBpe, EveryCharacterIsCutAsByTheReference) {
  const ByteBpeTokenizer tokenizers[] = {small_tokenizer("gpt2"), small_tokenizer("llama3"),
                                         small_tokenizer("digits")};
  std::ifstream file(kData / "characters.txt");
  int num_blocks = 0;
  for (std::string line; std::getline(file, line); ++num_blocks) {
    const auto first = static_cast<char32_t>(std::stoul(line.substr(0, 6), nullptr, 16));
    uLong crc = crc32(0, nullptr, 0);
    for (const auto& tokenizer : tokenizers) crc = block_checksum(crc, tokenizer, first);
    EXPECT_EQ(crc, std::stoul(line.substr(7), nullptr, 16)) << line;
  }
  EXPECT_EQ(num_blocks, 112);
}

TEST(ByteBpe, AnyBytesComeBack) {
  RandomStream random(1, "bytes", 0);
  for (const char* column : {"gpt2", "llama3", "digits"}) {
    const ByteBpeTokenizer tokenizer = small_tokenizer(column);
    for (int i = 0; i < 2000; ++i) {
      std::string bytes(random.below(64), '\0');
      for (char& byte : bytes) byte = static_cast<char>(random.below(256));
      const EncodedText encoded = tokenizer.encode_bytes(bytes);
      ASSERT_EQ(tokenizer.decode(encoded.ids), bytes);
      ASSERT_EQ(std::accumulate(encoded.bytes.begin(), encoded.bytes.end(), size_t{0}),
                bytes.size());
    }
  }
}

TEST(ByteBpe, BrokenUtf8IsRefusedWithItsPlace) {
  EXPECT_THAT(error_of([] { small_tokenizer().encode("ab\xFF"); }),
              HasSubstr("text is not valid UTF-8 at byte 2"));
}

TEST(ByteBpe, ThreadsGiveTheSameIds) {
  const ByteBpeTokenizer tokenizer = small_tokenizer();
  std::string text;
  for (const auto& line : fixture_lines()) text += line["text"].get<std::string>();
  const auto expected = small_tokenizer().encode(text).ids;
  std::vector<std::vector<int32_t>> found(4);
  {
    std::vector<std::jthread> threads;
    for (auto& ids : found) threads.emplace_back([&] { ids = tokenizer.encode(text).ids; });
  }
  for (const auto& ids : found) EXPECT_EQ(ids, expected);
}

TEST(ByteBpe, AMegabyteWithoutASpaceIsOneWord) {
  const ByteBpeTokenizer tokenizer(hand_made());
  std::string word;
  for (int i = 0; i < 250'000; ++i) word += "abab";
  EXPECT_EQ(tokenizer.encode(word).ids, std::vector<int32_t>(250'000, 6));
}

TEST(ByteBpe, Refusals) {
  const auto refused = [](const ByteBpeModel& model, const std::string& end = "") {
    return error_of([&] { ByteBpeTokenizer tokenizer(model, end); });
  };
  ByteBpeModel model = hand_made();
  EXPECT_THAT(refused(model, "x"), HasSubstr("hand: tokenizer.end_of_document 'x' is not a token"));
  EXPECT_THAT(refused(model, "ab"), HasSubstr("'ab' is an ordinary token; expected a special one"));
  model.pieces.back().text = "<e>";
  EXPECT_THAT(refused(model), HasSubstr("has no end-of-sequence token; name one"));
  model.end_id = 7;
  EXPECT_EQ(ByteBpeTokenizer(model).end_of_document(), 7);
  model.end_id = 8;
  EXPECT_THAT(refused(model), HasSubstr("end-of-sequence token 8 is outside the vocabulary of 8"));
  model = hand_made();
  model.merges.push_back({"a", "c"});
  EXPECT_THAT(refused(model), HasSubstr("a merge needs the piece `ac`"));
  model = hand_made();
  model.pieces[0].text = "\u4e2d";
  EXPECT_THAT(refused(model), HasSubstr("piece 0 `\u4e2d` is not of the byte-level alphabet"));
  EXPECT_THAT(error_of([&] { ByteBpeTokenizer(hand_made()).decode(std::vector<int32_t>{8}); }),
              HasSubstr("token id 8 is outside the vocabulary of 8"));
}

TEST(ByteBpe, IdentityNamesTheModel) {
  const std::string identity = ByteBpeTokenizer(hand_made()).identity();
  EXPECT_EQ(identity, ByteBpeTokenizer(hand_made()).identity());
  ByteBpeModel other = hand_made();
  other.name = "elsewhere";
  EXPECT_EQ(identity, ByteBpeTokenizer(other).identity());
  other.pre_tokenizer.isolates_digits = true;
  EXPECT_NE(identity, ByteBpeTokenizer(other).identity());
  other = hand_made();
  std::swap(other.merges[0], other.merges[1]);
  EXPECT_NE(identity, ByteBpeTokenizer(other).identity());
}

}  // namespace
}  // namespace retro
