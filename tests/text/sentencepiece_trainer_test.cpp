#include <set>

#include <gmock/gmock.h>

#include "retro/text/sentencepiece_tokenizer.h"

#include "sentence_sample.h"
#include "text_test_support.h"

namespace retro {
namespace {

using namespace std::string_literals;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::made_up_text;
using testing::ScratchDirectory;
using testing::slurp;

std::vector<std::string> sentences_of(const std::string& text) {
  SentenceSample sample(1'000'000, 1);
  sample.add(text);
  return sample.take();
}

TEST(SentenceSample, CutsAtLines) {
  EXPECT_THAT(sentences_of("one\n two \n\n\nthree"), ElementsAre("one", " two ", "three"));
  EXPECT_THAT(sentences_of("\n"), IsEmpty());
  EXPECT_THAT(sentences_of(""), IsEmpty());
}

TEST(SentenceSample, LeavesOutWhatTheTrainerReservesForItself) {
  EXPECT_THAT(sentences_of("a\0b"s), ElementsAre("a", "b"));
  EXPECT_THAT(sentences_of("a\xE2\x96\x81"
                           "b\xE2\x96\x85"
                           "c\xE2\x96\x82"),
              ElementsAre("a", "b", "c\xE2\x96\x82"));
  EXPECT_THAT(sentences_of("x<s>y</s>z<unk><0x41>a<b"),
              ElementsAre("x<", "s>y<", "/s>z<", "unk><", "0x41>a<b"));
}

TEST(SentenceSample, CutsLongLinesBeforeSpaces) {
  const std::string words = std::string(4000, 'a') + " " + std::string(200, 'b') + " c";
  EXPECT_THAT(sentences_of(words),
              ElementsAre(std::string(4000, 'a'), " " + std::string(200, 'b') + " c"));
  EXPECT_THAT(sentences_of(std::string(4097, 'a')), ElementsAre(std::string(4096, 'a'), "a"));
  // A character of two bytes would straddle the limit.
  EXPECT_THAT(sentences_of(std::string(4095, 'a') + "\xC3\xA9"),
              ElementsAre(std::string(4095, 'a'), "\xC3\xA9"));
}

TEST(SentenceSample, KeepsASeededShareInOrder) {
  const auto sample_of = [](uint64_t seed) {
    SentenceSample sample(500, seed);
    for (int i = 1000; i < 2000; ++i) sample.add(std::to_string(i) + "\n");
    EXPECT_EQ(sample.size_bytes(), 500);
    return sample.take();
  };
  const auto sample = sample_of(1);
  EXPECT_EQ(sample.size(), 125U);
  EXPECT_TRUE(std::is_sorted(sample.begin(), sample.end()));
  EXPECT_EQ(sample, sample_of(1));
  EXPECT_NE(sample, sample_of(2));
  // Uniform: each of ten tenths of the text has 12.5 sentences on average; 2 and 25 are 3 standard
  // deviations off.
  std::vector<int> share(10);
  for (const std::string& sentence : sample)
    ++share[static_cast<size_t>(std::stoi(sentence) / 100 - 10)];
  for (const int count : share) EXPECT_TRUE(count > 2 && count < 25) << count;
}

TEST(SentenceSample, RefusesInvalidText) {
  SentenceSample sample(1000, 1);
  EXPECT_EQ(error_of([&] { sample.add("ab\xC3"); }),
            "text to train a tokenizer on is not valid UTF-8 at byte 2");
}

TokenizerConfig with_vocabulary(int64_t vocabulary, int64_t training_bytes = 20'000'000) {
  TokenizerConfig config;
  config.vocabulary = vocabulary;
  config.training_bytes = training_bytes;
  return config;
}

class TrainerTest : public ::testing::Test {
 protected:
  static TextSource source_of(std::string text) {
    return [text = std::move(text)](const auto& sink) { sink(text); };
  }
  std::string train(const std::string& text, const TokenizerConfig& config, uint64_t seed = 1,
                    int num_threads = 2) {
    train_sentencepiece(source_of(text), config, seed, num_threads, path_);
    return slurp(path_);
  }
  ScratchDirectory scratch_;
  std::filesystem::path path_ = scratch_ / "trained.model";
};

TEST_F(TrainerTest, SameModelForAnyNumberOfThreads) {
  const std::string text = made_up_text(1, 60'000);
  const TokenizerConfig config = with_vocabulary(450);
  const std::string model = train(text, config, 1, 1);
  EXPECT_EQ(train(text, config, 1, 3), model);
  EXPECT_EQ(train(text, config, 2, 1), model);  // nothing is left out, so the seed has no say
}

TEST_F(TrainerTest, SeedChoosesTheSample) {
  const std::string text = made_up_text(1, 60'000);
  const TokenizerConfig config = with_vocabulary(450, 20'000);
  const std::string model = train(text, config, 1);
  EXPECT_EQ(train(text, config, 1), model);
  EXPECT_NE(train(text, config, 2), model);
}

TEST_F(TrainerTest, TooLargeAVocabularyNamesTheLargest) {
  const std::string text = made_up_text(1, 20'000);
  const std::string message = error_of([&] { train(text, with_vocabulary(100'000)); });
  ASSERT_THAT(
      message,
      HasSubstr(
          "tokenizer.vocabulary 100000 is too large for this text; the largest possible is "));
  EXPECT_FALSE(std::filesystem::exists(path_));
  const int64_t largest = std::stoll(message.substr(message.rfind(' ')));
  train(text, with_vocabulary(largest));
  EXPECT_EQ(load_tokenizer(path_)->vocabulary_size(), largest);
  EXPECT_THAT(error_of([&] { train(text, with_vocabulary(largest + 1)); }), HasSubstr("too large"));
}

TEST_F(TrainerTest, TooSmallAVocabularyNamesTheSmallest) {
  std::string text;
  for (int i = 0; i < 90; ++i) text += std::string(20, static_cast<char>('!' + i)) + "\n";
  const std::string message = error_of([&] { train(text, with_vocabulary(300)); });
  // 260 reserved pieces and 90 characters.
  EXPECT_EQ(message,
            "tokenizer.vocabulary 300 is too small for this text; its characters and the 256 bytes "
            "need 350");
}

TEST_F(TrainerTest, TextThatSpellsReservedNames) {
  std::string text;
  for (int i = 0; i < 500; ++i)
    text += "<s> </s> <unk> <0x41> \xE2\x96\x81 " + made_up_text(static_cast<uint64_t>(i), 50);
  train(text, with_vocabulary(400));
  const auto tokenizer = load_tokenizer(path_);
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("<s></s>").ids), "<s></s>");
}

TEST_F(TrainerTest, SaysNothing) {
  ::testing::internal::CaptureStderr();
  ::testing::internal::CaptureStdout();
  train(made_up_text(1, 20'000), with_vocabulary(400));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
}

TEST_F(TrainerTest, Errors) {
  TokenizerConfig words;
  words.type = "word";
  EXPECT_EQ(error_of([&] { train("", {}); }), "there is no text to train a tokenizer on");
  EXPECT_EQ(error_of([&] { train("text", words); }),
            "tokenizer.type 'word': expected unigram or bpe");
  EXPECT_THAT(error_of([&] { train("text", with_vocabulary(260)); }),
              HasSubstr("tokenizer.vocabulary 260: expected"));
  EXPECT_THAT(error_of([&] { train("text", with_vocabulary(500, 5)); }),
              HasSubstr("tokenizer.training_bytes 5: expected at least 10000"));
  EXPECT_THAT(scratch_.names(), IsEmpty());
}

}  // namespace
}  // namespace retro
