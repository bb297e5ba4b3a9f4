#include "retro/text/tokenizer.h"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sentencepiece_processor.h>

#include "retro/text/byte_bpe_tokenizer.h"
#include "retro/text/sentencepiece_tokenizer.h"

#include "core/test_support.h"

namespace retro {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::ScratchDirectory;
using testing::slurp;
using testing::spill;
using ::testing::StartsWith;

const std::filesystem::path kSmall =
    std::filesystem::path(RETRO_TEST_DATA) / "byte_bpe" / "tokenizer.json";
const std::filesystem::path kSmolLm2 = std::filesystem::path(RETRO_DEPS_DIR) / "smollm2";
constexpr const char* kText = "I'm 12 <|endoftext|> years\n\n  old\u2014caf\u00e9";

json small_json() { return json::parse(slurp(kSmall)); }

template <class T>
std::string number(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}
std::string text_of(const std::string& value) { return number(uint64_t{value.size()}) + value; }

void train_small(const std::filesystem::path& path, const char* type) {
  TokenizerConfig config;
  config.type = type;
  config.vocabulary = 287;
  train_sentencepiece(
      [](const auto& sink) {
        for (int i = 0; i < 200; ++i) sink("the quick brown fox number " + std::to_string(i));
      },
      config, 1, 1, path);
}

int gguf_type(const sentencepiece::SentencePieceProcessor& processor, int id) {
  if (processor.IsUnknown(id)) return 2;
  if (processor.IsControl(id)) return 3;
  if (processor.IdToPiece(id) == "\n") return 4;  // user-defined by train_sentencepiece
  return processor.IsByte(id) ? 6 : 1;
}

/// The vocabulary of a SentencePiece model as llama.cpp's converter stores it.
void write_gguf_of(const std::filesystem::path& model, const std::filesystem::path& path) {
  sentencepiece::SentencePieceProcessor processor;
  ASSERT_TRUE(processor.Load(model.string()).ok());
  std::string pieces, scores, types;
  for (int id = 0; id < processor.GetPieceSize(); ++id) {
    pieces += text_of(processor.IdToPiece(id));
    scores += number(processor.GetScore(id));
    types += number(gguf_type(processor, id));
  }
  const auto list = [&](const char* key, uint32_t type, const std::string& values) {
    return text_of(std::string("tokenizer.ggml.") + key) + number(uint32_t{9}) + number(type) +
           number(static_cast<uint64_t>(processor.GetPieceSize())) + values;
  };
  const auto id = [](const char* key, int value) {
    return text_of(std::string("tokenizer.ggml.") + key) + number(uint32_t{5}) + number(value);
  };
  spill(path, "GGUF" + number(uint32_t{3}) + number(uint64_t{0}) + number(uint64_t{6}) +
                  text_of("tokenizer.ggml.model") + number(uint32_t{8}) + text_of("llama") +
                  list("tokens", 8, pieces) + list("scores", 6, scores) +
                  list("token_type", 5, types) + id("eos_token_id", processor.eos_id()) +
                  id("unknown_token_id", processor.unk_id()));
}

class LoadTokenizer : public ::testing::Test {
 protected:
  std::string refusal(const json& tokenizer) const {
    spill(scratch_ / "tokenizer.json", tokenizer.dump());
    return error_of([&] { load_tokenizer(scratch_.path()); });
  }
  /// GPT-2's pair of files out of the small tokenizer.json.
  void write_pair() const {
    const json tokenizer = small_json();
    std::string merges = "#version: 0.2\n";
    for (const auto& merge : tokenizer["model"]["merges"])
      merges += merge[0].get<std::string>() + " " + merge[1].get<std::string>() + "\n";
    spill(scratch_ / "vocab.json", tokenizer["model"]["vocab"].dump());
    spill(scratch_ / "merges.txt", merges);
  }
  ScratchDirectory scratch_;
};

TEST_F(LoadTokenizer, CopiesAreTheSameTokenizer) {
  const auto original = load_tokenizer(kSmall);
  copy_tokenizer(kSmall, scratch_ / "tokenizer.model");  // the content decides, not the name
  const auto copy = load_tokenizer(scratch_ / "tokenizer.model");
  EXPECT_EQ(copy->identity(), original->identity());
  EXPECT_EQ(copy->encode(kText).ids, original->encode(kText).ids);
}

TEST_F(LoadTokenizer, EveryPreTokenizerAndRoleSurvivesACopy) {
  ByteBpeModel model = read_tokenizer_json(kSmall);
  model.end_id = 1;
  model.begin_id = 0;
  model.prefers_whole_words = true;
  for (const PreTokenizer pre_tokenizer :
       {PreTokenizer{WordPattern::kGpt2}, PreTokenizer{WordPattern::kGpt2, true},
        PreTokenizer{WordPattern::kLlama3}, PreTokenizer{WordPattern::kLlama3, false, 1}}) {
    model.pre_tokenizer = pre_tokenizer;
    write_tokenizer_json(model, scratch_ / "t.json");
    const ByteBpeModel copy = read_tokenizer_json(scratch_ / "t.json");
    EXPECT_EQ(copy.pre_tokenizer, pre_tokenizer);
    EXPECT_EQ(copy.end_id, 1);
    EXPECT_EQ(copy.begin_id, 0);
    EXPECT_TRUE(copy.prefers_whole_words);
    EXPECT_EQ(ByteBpeTokenizer(copy).identity(), ByteBpeTokenizer(model).identity());
  }
}

TEST_F(LoadTokenizer, VocabularyAndMerges) {
  write_pair();
  for (const char* name : {"", "vocab.json", "merges.txt"}) {
    const auto tokenizer = load_tokenizer(scratch_ / name);
    EXPECT_EQ(tokenizer->encode(kText).ids, load_tokenizer(kSmall)->encode(kText).ids);
    EXPECT_EQ(tokenizer->end_of_document(), 0);
  }
}

TEST_F(LoadTokenizer, TheFoldersConfigurationNamesSpecialTokens) {
  write_pair();
  spill(scratch_ / "tokenizer_config.json",
        R"({"eos_token": {"content": "<|im_start|>"}, "bos_token": null,
            "added_tokens_decoder": {"903": {"content": "<pad>", "special": true},
                                     "902": {"content": "<pair>", "special": false}}})");
  const ByteBpeModel model = read_vocabulary_and_merges(scratch_.path());
  EXPECT_EQ(model.end_id, 1);
  EXPECT_EQ(model.begin_id, -1);
  EXPECT_EQ(model.pieces.size(), 904U);
  EXPECT_EQ(model.pieces[901].type, ByteBpeModel::Type::kAbsent);
  const ByteBpeTokenizer tokenizer(model);
  EXPECT_THAT(tokenizer.encode("<pair>").ids, ElementsAre(902));
  EXPECT_EQ(tokenizer.decode(std::vector<int32_t>{901, 902, 903}), "<pair>");
}

TEST_F(LoadTokenizer, NamesItsFiles) {
  EXPECT_THAT(tokenizer_files(kSmall), ElementsAre(kSmall));
  write_pair();
  spill(scratch_ / "tokenizer_config.json", "{}");
  EXPECT_THAT(tokenizer_files(scratch_.path()),
              ElementsAre(scratch_ / "vocab.json", scratch_ / "merges.txt",
                          scratch_ / "tokenizer_config.json"));
}

TEST_F(LoadTokenizer, SmolLm2AndItsCopy) {
  if (!std::filesystem::exists(kSmolLm2)) GTEST_SKIP() << "fetched by tools/setup.sh --llm";
  const auto tokenizer = load_tokenizer(kSmolLm2);
  EXPECT_EQ(tokenizer->vocabulary_size(), 49152);
  EXPECT_EQ(tokenizer->piece(tokenizer->end_of_document()), "<|endoftext|>");
  EXPECT_THAT(tokenizer->identity(), StartsWith("byte-bpe:"));
  // What the reference gives (tools/reference/byte_bpe_fixture.py).
  EXPECT_THAT(tokenizer->encode("The capital of France is").ids,
              ElementsAre(504, 3575, 282, 4649, 314));
  copy_tokenizer(kSmolLm2, scratch_ / "tokenizer.json");
  EXPECT_EQ(load_tokenizer(scratch_ / "tokenizer.json")->identity(), tokenizer->identity());
}

TEST_F(LoadTokenizer, SentencePieceIsCopiedAsItIs) {
  const auto model = scratch_ / "m.model";
  train_small(model, "unigram");
  copy_tokenizer(model, scratch_ / "tokenizer.model");
  EXPECT_EQ(slurp(scratch_ / "tokenizer.model"), slurp(model));
  EXPECT_EQ(load_tokenizer(scratch_.path())->identity(), load_tokenizer(model)->identity());
}

TEST_F(LoadTokenizer, SentencePieceOfAGguf) {
  const auto model = scratch_ / "m.model";
  train_small(model, "bpe");
  write_gguf_of(model, scratch_ / "m.gguf");
  const auto expected = load_tokenizer(model);
  const auto tokenizer = load_tokenizer(scratch_ / "m.gguf");
  EXPECT_EQ(tokenizer->end_of_document(), expected->end_of_document());
  for (const char* text :
       {"the quick brown fox", "  number 12\n", "caf\u00e9 \u4e2d", "", " ", kText})
    EXPECT_EQ(tokenizer->encode(text).ids, expected->encode(text).ids) << text;
  copy_tokenizer(scratch_ / "m.gguf", scratch_ / "tokenizer.model");
  EXPECT_EQ(load_tokenizer(scratch_ / "tokenizer.model")->identity(), tokenizer->identity());
}

TEST_F(LoadTokenizer, Refusals) {
  EXPECT_THAT(error_of([&] { load_tokenizer(scratch_ / "none"); }),
              HasSubstr("none: no such file or folder"));
  EXPECT_THAT(error_of([&] { load_tokenizer(scratch_.path()); }),
              HasSubstr("holds no tokenizer ("));
  json tokenizer = small_json();
  tokenizer["model"]["type"] = "Unigram";
  EXPECT_THAT(refusal(tokenizer), HasSubstr("its model is Unigram, expected byte-level BPE"));
  tokenizer = small_json();
  tokenizer["model"]["byte_fallback"] = true;
  EXPECT_THAT(refusal(tokenizer), HasSubstr("give its tokenizer.model instead"));
  tokenizer = small_json();
  tokenizer["normalizer"] = {{"type", "Lowercase"}};
  EXPECT_THAT(refusal(tokenizer), HasSubstr("its normaliser Lowercase changes the text"));
  tokenizer = small_json();
  tokenizer["pre_tokenizer"] = {{"type", "Whitespace"}};
  EXPECT_THAT(refusal(tokenizer),
              HasSubstr("its pre-tokenizer is not supported; expected ByteLev"));
  tokenizer["pre_tokenizer"] = {{"type", "Split"},
                                {"pattern", {{"Regex", "a|b"}}},
                                {"behavior", "Isolated"},
                                {"invert", false}};
  EXPECT_THAT(refusal(tokenizer), HasSubstr("by a regular expression that is not supported"));
  tokenizer = small_json();
  tokenizer["model"]["merges"].push_back("a b c");
  EXPECT_THAT(refusal(tokenizer), HasSubstr("a merge is not a pair of pieces: `a b c`"));
  tokenizer = small_json();
  tokenizer["added_tokens"].push_back({{"id", -1}, {"content", "x"}});
  EXPECT_THAT(refusal(tokenizer), HasSubstr("token `x` has the id -1"));
  tokenizer["added_tokens"] = {{{"id", 2}, {"content", "x"}, {"lstrip", true}}};
  EXPECT_THAT(refusal(tokenizer), HasSubstr("the added token `x` takes spaces with it"));
  spill(scratch_ / "tokenizer.json", "{");
  EXPECT_THAT(error_of([&] { load_tokenizer(scratch_.path()); }), HasSubstr("not valid JSON"));
}

}  // namespace
}  // namespace retro
