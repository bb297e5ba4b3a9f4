#include "retro/text/sentencepiece_tokenizer.h"

#include <fstream>
#include <map>
#include <numeric>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include "retro/text/tokenizer.h"

#include "text_test_support.h"

namespace retro {
namespace {

using namespace std::string_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::made_up_text;
using ::testing::Not;
using testing::ScratchDirectory;
using testing::slurp;
using testing::spill;

/// A model trained by the library itself on the made-up text, with `changes` to lossless settings.
std::string train_with_library(std::map<std::string, std::string> changes) {
  std::unordered_map<std::string, std::string> arguments = {{"model_type", "unigram"},
                                                            {"vocab_size", "400"},
                                                            {"normalization_rule_name", "identity"},
                                                            {"add_dummy_prefix", "false"},
                                                            {"byte_fallback", "true"},
                                                            {"remove_extra_whitespaces", "false"},
                                                            {"num_threads", "1"},
                                                            {"minloglevel", "3"}};
  for (const auto& [key, value] : changes) arguments[key] = value;
  class Lines final : public sentencepiece::SentenceIterator {
   public:
    bool done() const override { return position_ == text_.size(); }
    void Next() override { position_ = std::min(text_.size(), text_.find('\n', position_) + 1); }
    const std::string& value() const override {
      line_ = text_.substr(position_, text_.find('\n', position_) - position_);
      return line_;
    }
    sentencepiece::util::Status status() const override { return {}; }

   private:
    std::string text_ = made_up_text(1, 30'000) + "\n";
    size_t position_ = 0;
    mutable std::string line_;
  } lines;
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train(arguments, &lines, &model);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return model;
}

class SentencePieceTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    scratch_ = std::make_unique<ScratchDirectory>();
    const TextSource texts = [](const auto& sink) { sink(made_up_text(1, 60'000)); };
    TokenizerConfig config;
    config.vocabulary = 500;
    train_sentencepiece(texts, config, 1, 1, *scratch_ / "tokenizer.model");
    config.type = "bpe";
    train_sentencepiece(texts, config, 1, 1, *scratch_ / "bpe.model");
  }
  static void TearDownTestSuite() { scratch_.reset(); }

  static std::unique_ptr<Tokenizer> load(std::string_view name) {
    return load_tokenizer(*scratch_ / name);
  }
  /// Writes a model into the scratch directory and returns its path.
  static std::filesystem::path write_model(const std::string& model) {
    spill(*scratch_ / "written.model", model);
    return *scratch_ / "written.model";
  }
  static std::unique_ptr<ScratchDirectory> scratch_;
};

std::unique_ptr<ScratchDirectory> SentencePieceTest::scratch_;

/// The text comes back, and every token says how much of it is its own.
void expect_lossless(const Tokenizer& tokenizer, const std::string& text) {
  const EncodedText encoded = tokenizer.encode(text);
  ASSERT_EQ(encoded.ids.size(), encoded.bytes.size());
  EXPECT_EQ(tokenizer.decode(encoded.ids), text) << ::testing::PrintToString(text.substr(0, 200));
  EXPECT_EQ(std::accumulate(encoded.bytes.begin(), encoded.bytes.end(), size_t{0}), text.size());
  size_t offset = 0;
  for (size_t i = 0; i < encoded.ids.size(); ++i) {
    ASSERT_EQ(tokenizer.decode(std::span(&encoded.ids[i], 1)),
              text.substr(offset, encoded.bytes[i]))
        << i;
    offset += encoded.bytes[i];
  }
}

std::vector<std::string> hard_texts() {
  std::vector<std::string> texts = {
      "",
      " ",
      "  two  spaces  ",
      "\n",
      "\n\n\n",
      "\r\n",
      "a\tb",
      "\0"s,
      "a\0b\0"s,
      "\x01\x02\x7F",
      "\xE2\x96\x81",  // U+2581, which SentencePiece uses for a space
      "\xE2\x96\x81\xE2\x96\x81 \xE2\x96\x81 x",
      "x\xE2\x96\x81y z",
      "\xE2\x96\x85",  // U+2585, which the trainer uses for the unknown
      "\xEF\xBF\xBD",
      "\xEF\xBB\xBFmark",
      "<s></s><unk>",
      "<0x41><0x0A>",
      "kalo \xE4\xB8\xAD\xE6\x96\x87 \xF0\x9F\x98\x80 lomi",
      std::string(300, ' '),
      std::string(300, '\t'),
  };
  std::ifstream file(std::filesystem::path(RETRO_TEST_DATA) / "wordpiece_fixture.jsonl");
  for (std::string line; std::getline(file, line);)
    texts.push_back(nlohmann::json::parse(line)["text"]);
  return texts;
}

TEST_F(SentencePieceTest, TextComesBackByteByByte) {
  for (const char* model : {"tokenizer.model", "bpe.model"}) {
    const auto tokenizer = load(model);
    for (const std::string& text : hard_texts()) expect_lossless(*tokenizer, text);
    expect_lossless(*tokenizer, made_up_text(2, 5'000));
  }
}

TEST_F(SentencePieceTest, PiecesAreLearnt) {
  const auto tokenizer = load("tokenizer.model");
  EXPECT_EQ(tokenizer->vocabulary_size(), 500);
  const std::string text = made_up_text(3, 10'000);
  EXPECT_LT(tokenizer->encode(text).ids.size(), text.size() / 2);
}

TEST_F(SentencePieceTest, UnknownCharactersAreBytes) {
  const auto tokenizer = load("tokenizer.model");
  const EncodedText encoded = tokenizer->encode("\xE2\x82\xAC");  // the Euro sign
  std::vector<std::string> pieces;
  for (const int32_t id : encoded.ids) pieces.push_back(tokenizer->piece(id));
  EXPECT_THAT(pieces, ElementsAre("<0xE2>", "<0x82>", "<0xAC>"));
  EXPECT_THAT(encoded.bytes, ElementsAre(1, 1, 1));
}

TEST_F(SentencePieceTest, NewlineIsAPieceOfItsOwn) {
  const auto tokenizer = load("tokenizer.model");
  const EncodedText encoded = tokenizer->encode("\n\n");
  ASSERT_EQ(encoded.ids.size(), 2U);
  EXPECT_EQ(tokenizer->piece(encoded.ids[0]), "\n");
  EXPECT_EQ(encoded.ids[0], encoded.ids[1]);
}

TEST_F(SentencePieceTest, SpecialPiecesNeverComeFromText) {
  const auto tokenizer = load("tokenizer.model");
  EXPECT_EQ(tokenizer->piece(tokenizer->end_of_document()), "</s>");
  const EncodedText encoded = tokenizer->encode("<s> text </s> <unk> <0x41> </s>");
  for (const int32_t special : {0, 1, 2}) EXPECT_THAT(encoded.ids, Not(Contains(special)));
  const int32_t end[] = {tokenizer->end_of_document()};
  EXPECT_EQ(tokenizer->decode(end), "");
}

TEST_F(SentencePieceTest, AUserDefinedSeparatorIsReservedForIds) {
  const auto path =
      write_model(train_with_library({{"user_defined_symbols", "<|endoftext|>,<tag>"}}));
  const auto tokenizer = load_tokenizer(path);
  EXPECT_EQ(tokenizer->piece(tokenizer->end_of_document()), "<|endoftext|>");
  const std::string text = "kalo<|endoftext|>lomi <tag>";
  EXPECT_THAT(tokenizer->encode(text).ids, Not(Contains(tokenizer->end_of_document())));
  expect_lossless(*tokenizer, text);
  const auto other = load_tokenizer(path, "<tag>");
  EXPECT_EQ(other->piece(other->end_of_document()), "<tag>");
  EXPECT_THAT(other->encode(text).ids, Not(Contains(other->end_of_document())));
  EXPECT_NE(other->identity(), tokenizer->identity());
}

TEST_F(SentencePieceTest, ADummyPrefixIsLeftOut) {
  const auto tokenizer =
      load_tokenizer(write_model(train_with_library({{"add_dummy_prefix", "true"}})));
  expect_lossless(*tokenizer, "kalo lomi");
  expect_lossless(*tokenizer, " kalo");
}

TEST_F(SentencePieceTest, CutsOfLongTextsChangeNothing) {
  // Whole lines and long lines of words: the library, given the whole text at once, is the judge.
  std::string text = made_up_text(4, 70'000);
  std::string one_line = made_up_text(5, 70'000);
  std::replace(one_line.begin(), one_line.end(), '\n', ' ');
  for (const char* model : {"tokenizer.model", "bpe.model"}) {
    sentencepiece::SentencePieceProcessor library;
    ASSERT_TRUE(library.Load((*scratch_ / model).string()).ok());
    for (const std::string& whole : {text, one_line, "\n\n" + text + "\n\n\n"}) {
      EXPECT_EQ(load(model)->encode(whole).ids, library.EncodeAsIds(whole));
    }
  }
}

TEST_F(SentencePieceTest, LongTextsWithoutSpacesAreLossless) {
  const auto tokenizer = load("tokenizer.model");
  std::string wide;
  for (int i = 0; i < 30'000; ++i) wide += "\xE4\xB8\xAD";
  for (const std::string& text :
       {std::string(100'000, 'k'), std::string(100'000, ' '), wide, "x" + wide}) {
    expect_lossless(*tokenizer, text);
  }
}

TEST_F(SentencePieceTest, TextOfMegabytes) {
  std::string text = made_up_text(6, 3'000'000);
  std::replace(text.begin(), text.end(), '\n', ' ');
  const auto tokenizer = load("tokenizer.model");
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text).ids), text);
}

TEST_F(SentencePieceTest, InvalidTextAndIds) {
  const auto tokenizer = load("tokenizer.model");
  EXPECT_EQ(error_of([&] { tokenizer->encode("good \xFF bad"); }),
            "text is not valid UTF-8 at byte 5");
  const int32_t beyond[] = {500};
  EXPECT_EQ(error_of([&] { tokenizer->decode(beyond); }),
            "token id 500 is outside the vocabulary of 500");
  EXPECT_EQ(error_of([&] { tokenizer->piece(-1); }),
            "token id -1 is outside the vocabulary of 500");
}

TEST_F(SentencePieceTest, IdentityNamesTheContent) {
  spill(*scratch_ / "copy.model", slurp(*scratch_ / "tokenizer.model"));
  EXPECT_EQ(load("copy.model")->identity(), load("tokenizer.model")->identity());
  EXPECT_NE(load("bpe.model")->identity(), load("tokenizer.model")->identity());
}

TEST_F(SentencePieceTest, RefusedModels) {
  const auto refusal = [&](const std::string& model, const std::string& end = "") {
    return error_of([&, path = write_model(model)] { load_tokenizer(path, end); });
  };
  EXPECT_THAT(refusal(""),
              HasSubstr("written.model: not a SentencePiece model (it has no pieces)"));
  EXPECT_THAT(refusal("Just some text, no model at all."),
              HasSubstr("written.model: not a SentencePiece model"));
  const std::string good = slurp(*scratch_ / "tokenizer.model");
  for (const size_t length : {size_t{1}, size_t{100}, good.size() / 2, good.size() - 1}) {
    EXPECT_THAT(refusal(good.substr(0, length)), HasSubstr("written.model: ")) << length;
  }
  EXPECT_THAT(refusal(train_with_library({{"normalization_rule_name", "nfkc"}})),
              HasSubstr("its normaliser changes the text"));
  EXPECT_THAT(refusal(train_with_library({{"remove_extra_whitespaces", "true"}})),
              HasSubstr("remove_extra_whitespaces = false"));
  EXPECT_THAT(refusal(train_with_library({{"byte_fallback", "false"}, {"vocab_size", "100"}})),
              HasSubstr("has no piece for byte 00; expected byte fallback"));
  EXPECT_THAT(refusal(train_with_library({{"eos_id", "-1"}})),
              HasSubstr("name one with tokenizer.end_of_document"));
  EXPECT_THAT(refusal(good, "<nowhere>"), HasSubstr("'<nowhere>' is not a piece of this model"));
  EXPECT_THAT(refusal(good, "k"), HasSubstr("'k' is an ordinary piece"));
  EXPECT_THAT(error_of([&] { load_tokenizer(*scratch_ / "absent.model"); }),
              HasSubstr("absent.model"));
}

}  // namespace
}  // namespace retro
