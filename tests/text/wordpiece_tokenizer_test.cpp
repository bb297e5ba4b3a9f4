#include "retro/text/wordpiece_tokenizer.h"

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <zlib.h>

#include "core/test_support.h"

namespace retro {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ScratchDirectory;
using testing::spill;

const std::filesystem::path kModel = std::filesystem::path(RETRO_DEPS_DIR) / "minilm";
const std::filesystem::path kData = RETRO_TEST_DATA;

const WordPieceTokenizer& minilm() {
  static const WordPieceTokenizer tokenizer = WordPieceTokenizer::from_directory(kModel);
  return tokenizer;
}

TEST(WordPiece, KnownSentence) {
  // DATA.md section 1.
  EXPECT_THAT(minilm().encode("A cat sat on the mat."),
              ElementsAre(1037, 4937, 2938, 2006, 1996, 13523, 1012));
  EXPECT_EQ(minilm().cls_id(), 101);
  EXPECT_EQ(minilm().sep_id(), 102);
  EXPECT_EQ(minilm().unknown_id(), 100);
  EXPECT_EQ(minilm().vocabulary_size(), 30522);
}

TEST(WordPiece, HardLinesGiveTheReferenceIds) {
  std::ifstream file(kData / "wordpiece_fixture.jsonl");
  int64_t num_lines = 0;
  for (std::string line; std::getline(file, line); ++num_lines) {
    const auto entry = nlohmann::json::parse(line);
    EXPECT_EQ(minilm().encode(entry["text"].get<std::string>()),
              entry["ids"].get<std::vector<int32_t>>())
        << line;
  }
  EXPECT_GE(num_lines, 200);
}

std::string utf8_of(char32_t c) {
  std::string text;
  const auto add = [&text](char32_t byte) { text += static_cast<char>(byte); };
  if (c < 0x80) {
    add(c);
  } else if (c < 0x800) {
    add(0xC0 + (c >> 6)), add(0x80 + c % 64);
  } else if (c < 0x10000) {
    add(0xE0 + (c >> 12)), add(0x80 + (c >> 6) % 64), add(0x80 + c % 64);
  } else {
    add(0xF0 + (c >> 18)), add(0x80 + (c >> 12) % 64), add(0x80 + (c >> 6) % 64),
        add(0x80 + c % 64);
  }
  return text;
}

uLong add_ids(uLong crc, const std::vector<int32_t>& ids) {
  std::string line;
  for (const int32_t id : ids) line += (line.empty() ? "" : " ") + std::to_string(id);
  line += "\n";
  return crc32(crc, reinterpret_cast<const Bytef*>(line.data()), static_cast<uInt>(line.size()));
}

TEST(WordPiece, EveryCharacterGivesTheReferenceIds) {
  std::ifstream file(kData / "wordpiece_characters.txt");
  char32_t expected_first = 0;
  for (std::string line; std::getline(file, line); expected_first += 4096) {
    const auto first = static_cast<char32_t>(std::stoul(line.substr(0, 6), nullptr, 16));
    ASSERT_EQ(first, expected_first);
    uLong crc = 0;
    for (char32_t c = first; c < first + 4096; ++c) {
      if (c >= 0xD800 && c < 0xE000) continue;
      crc = add_ids(crc, minilm().encode("a" + utf8_of(c) + "b"));
      crc = add_ids(crc, minilm().encode(utf8_of(c)));
    }
    EXPECT_EQ(crc, std::stoul(line.substr(7), nullptr, 16)) << "block of " << line;
  }
  EXPECT_EQ(expected_first, 0x110000U);
}

TEST(WordPiece, BrokenBytesAreDropped) {
  EXPECT_EQ(minilm().encode("hel\xFFlo\xE2\x82 world\xC3"), minilm().encode("hello world"));
  EXPECT_THAT(minilm().encode("\x80\xFF"), IsEmpty());
}

/// ids: 0 [PAD] 1 [UNK] 2 [CLS] 3 [SEP] 4 un 5 ##aff 6 ##able 7 ##a 8 É 9 é 10 e 11 ##ffable 12 A
/// 13 a 14 中 15 ##文
class SmallVocabulary : public ::testing::Test {
 protected:
  SmallVocabulary() {
    spill(
        scratch_ / "vocab.txt",
        "[PAD]\n[UNK]\n[CLS]\n[SEP]\nun\n##aff\n##able\n##a\nÉ\né\ne\n##ffable\nA\na\n中\n##文\n");
  }
  std::vector<int32_t> encode(const std::string& text,
                              const WordPieceTokenizer::Options& options = {}) {
    return WordPieceTokenizer(scratch_ / "vocab.txt", options).encode(text);
  }
  ScratchDirectory scratch_;
};

TEST_F(SmallVocabulary, LongestMatchFirst) {
  EXPECT_THAT(encode("unaffable"), ElementsAre(4, 5, 6));  // not un ##a ##ffable
  EXPECT_THAT(encode("una"), ElementsAre(4, 7));
  EXPECT_THAT(encode("unaffablex una"),
              ElementsAre(1, 4, 7));            // one missing piece loses the whole word
  EXPECT_THAT(encode("able"), ElementsAre(1));  // "##able" cannot begin a word
}

TEST_F(SmallVocabulary, Options) {
  EXPECT_THAT(encode("A É"), ElementsAre(13, 10));
  EXPECT_THAT(encode("A É", {.strip_accents = false}), ElementsAre(13, 9));
  EXPECT_THAT(encode("A É", {.lower_case = false, .strip_accents = false}), ElementsAre(12, 8));
  EXPECT_THAT(encode("中文"), ElementsAre(14, 1));
  EXPECT_THAT(encode("中文", {.split_cjk = false}), ElementsAre(14, 15));
  EXPECT_THAT(encode("aa aa\x01"
                     "a",
                     {.longest_word = 1}),
              ElementsAre(1, 1));
  EXPECT_THAT(encode("a\x01"), ElementsAre(13));
  EXPECT_THAT(encode("a\x01", {.clean_text = false}), ElementsAre(1));
}

TEST_F(SmallVocabulary, WordsOfThisManyCharacters) {
  const WordPieceTokenizer::Options options{.longest_word = 3};
  EXPECT_THAT(encode("una", options), ElementsAre(4, 7));
  EXPECT_THAT(encode("unaa", options), ElementsAre(1));
}

TEST_F(SmallVocabulary, OptionsFromTheDirectory) {
  spill(scratch_ / "tokenizer_config.json",
        R"({"do_lower_case": false, "tokenize_chinese_chars": false})");
  auto options = WordPieceTokenizer::from_directory(scratch_.path()).options();
  EXPECT_FALSE(options.lower_case);
  EXPECT_FALSE(options.strip_accents);  // follows lower-casing when absent
  EXPECT_FALSE(options.split_cjk);
  spill(scratch_ / "tokenizer.json",
        R"({"normalizer": {"type": "BertNormalizer", "clean_text": false, "lowercase": true,
        "strip_accents": null, "handle_chinese_chars": true}, "model": {"type": "WordPiece", "max_input_chars_per_word": 7}})");
  options = WordPieceTokenizer::from_directory(scratch_.path()).options();
  EXPECT_TRUE(options.lower_case);
  EXPECT_TRUE(options.strip_accents);
  EXPECT_TRUE(options.split_cjk);
  EXPECT_FALSE(options.clean_text);
  EXPECT_EQ(options.longest_word, 7);
}

TEST_F(SmallVocabulary, WindowsLineEnds) {
  spill(scratch_ / "vocab.txt", "[UNK]\r\n[CLS]\r\n[SEP]\r\ncat\r\n");
  EXPECT_THAT(encode("cat"), ElementsAre(3));
}

TEST_F(SmallVocabulary, Errors) {
  spill(scratch_ / "other.txt", "one\ntwo\n");
  EXPECT_THAT(error_of([&] { WordPieceTokenizer(scratch_ / "other.txt", {}); }),
              HasSubstr("other.txt: expected a BERT vocabulary with the piece [CLS] or <s>"));
  EXPECT_THAT(error_of([&] { WordPieceTokenizer(scratch_ / "none.txt", {}); }),
              HasSubstr("none.txt: cannot be opened"));
  spill(scratch_ / "tokenizer.json", R"({"normalizer": null, "model": {"type": "BPE"}})");
  EXPECT_THAT(error_of([&] { WordPieceTokenizer::from_directory(scratch_.path()); }),
              HasSubstr("tokenizer.json: its model is BPE, expected WordPiece"));
}

}  // namespace
}  // namespace retro
