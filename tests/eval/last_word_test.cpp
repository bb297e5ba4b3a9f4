#include "retro/eval/last_word.h"

#include <cmath>

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include "retro/core/error.h"

#include "eval/tiny_evaluation.h"

namespace retro {
namespace {

using testing::ByteTokenizer;
using testing::kEvalChunk;
using testing::random_model;

TEST(LastWord, BeginsAfterTheLastWhiteSpace) {
  using Bytes = std::vector<uint16_t>;
  EXPECT_EQ(first_token_of_last_word("a cat", Bytes{1, 1, 1, 1, 1}), 2u);
  // Pieces " a", " ca", "t": the one that holds the first letter, its blank included.
  EXPECT_EQ(first_token_of_last_word(" a cat", Bytes{2, 3, 1}), 1u);
  EXPECT_EQ(first_token_of_last_word("cat", Bytes{3}), 0u);
  EXPECT_THROW(first_token_of_last_word("a ", Bytes{1, 1}), Error);
}

TEST(LastWord, AccuracyAndPerplexityByHand) {
  const std::vector<LastWord> words = {
      {"cat", std::log(2.0), std::log(4.0), true, false},
      {"dog", std::log(8.0), std::log(4.0), true, true},
      {"bird", std::log(4.0), std::log(4.0), false, false},
  };
  const LastWordSummary summary = summarise_last_words(words);
  EXPECT_EQ(summary.passages, 3);
  EXPECT_DOUBLE_EQ(summary.accuracy_off, 2.0 / 3.0);
  EXPECT_DOUBLE_EQ(summary.accuracy_on, 1.0 / 3.0);
  EXPECT_NEAR(summary.perplexity_off, 4.0, 1e-12);
  EXPECT_NEAR(summary.perplexity_on, 4.0, 1e-12);
}

TEST(LastWord, WithoutRetrievalThereIsNoAccuracyWithIt) {
  const std::vector<LastWord> words = {{"cat", std::log(2.0), {}, true, {}}};
  const LastWordSummary summary = summarise_last_words(words);
  EXPECT_EQ(summary.accuracy_off, 1.0);
  EXPECT_TRUE(std::isnan(summary.accuracy_on));
  EXPECT_TRUE(std::isnan(summary.perplexity_on));
}

class LastWordOfModel : public ::testing::Test {
 protected:
  LastWordOfModel() : model_(random_model(true, 7)) {
    model_->eval();
    options_.tokenizer = &tokenizer_;
    options_.window_length = 16 * kEvalChunk;
  }

  /// Logits of the token after a lead chunk and `context`, by a forward pass of their own.
  at::Tensor logits_after(const std::string& context) {
    const c10::InferenceMode inference;
    std::vector<int64_t> ids(kEvalChunk, ByteTokenizer::kEnd);
    for (const char letter : context) ids.push_back(static_cast<unsigned char>(letter));
    ModelInput input;
    input.tokens_BN = at::tensor(ids, at::kLong).unsqueeze(0);
    input.real_BN = at::arange(static_cast<int64_t>(ids.size())).ge(kEvalChunk - 1).unsqueeze(0);
    input.document_BN = at::zeros_like(input.tokens_BN);
    return model_->logits(input)[0][-1].clone();
  }
  LastWord scored(const std::string& context, int64_t letter) {
    return score_last_word(model_, options_, context + static_cast<char>(letter) + "\n");
  }

  RetroModel model_;
  ByteTokenizer tokenizer_;
  GeneratorOptions options_;
};

bool is_letter(int64_t token) {
  return (token >= 'a' && token <= 'z') || (token >= 'A' && token <= 'Z');
}

TEST_F(LastWordOfModel, AWordOfFirstChoicesIsRightAndNoOther) {
  int64_t right = 0;
  for (int number = 0; number < 26 * 26; ++number) {
    const std::string context = {static_cast<char>('a' + number / 26),
                                 static_cast<char>('a' + number % 26), ' '};
    const at::Tensor logits_V = logits_after(context);
    const auto first = logits_V.argmax().item<int64_t>();
    if (!is_letter(first)) continue;
    EXPECT_TRUE(scored(context, first).is_right_off) << context;
    ++right;
    const int64_t worst = logits_V.slice(0, 'a', 'z' + 1).argmin().item<int64_t>() + 'a';
    EXPECT_FALSE(scored(context, worst).is_right_off) << context;
  }
  EXPECT_GT(right, 0) << "no context of these has a letter as its first choice";
}

TEST_F(LastWordOfModel, ItsNatsAreThoseOfAForwardPass) {
  const std::string context = "the cat sat on ";
  const LastWord word = scored(context, 'q');
  EXPECT_EQ(word.word, "q");
  EXPECT_NEAR(word.nats_off, -logits_after(context).log_softmax(0)['q'].item<double>(), 1e-4);
  EXPECT_FALSE(word.nats_on.has_value());  // nothing is retrieved
  EXPECT_FALSE(word.is_right_on.has_value());
}

}  // namespace
}  // namespace retro
