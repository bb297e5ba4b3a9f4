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

/// A model's first choices after a lead chunk, found by a forward pass of its own.
TEST(LastWord, AWordOfFirstChoicesIsRight) {
  RetroModel model = random_model(true, 7);
  model->eval();
  const ByteTokenizer tokenizer;
  GeneratorOptions options;
  options.tokenizer = &tokenizer;
  options.window_length = 16 * kEvalChunk;
  const std::string context = "the cat sat on ";
  const c10::InferenceMode inference;
  std::vector<int64_t> ids(kEvalChunk, ByteTokenizer::kEnd);
  for (const char letter : context) ids.push_back(static_cast<unsigned char>(letter));
  ModelInput input;
  input.tokens_BN = at::tensor(ids, at::kLong).unsqueeze(0);
  input.real_BN = at::arange(static_cast<int64_t>(ids.size())).ge(kEvalChunk - 1).unsqueeze(0);
  input.document_BN = at::zeros_like(input.tokens_BN);
  const at::Tensor last_V = model->logits(input)[0][-1];
  // The best printable letter is scored as the last word; it is right only if no token beats it.
  const int64_t best = last_V.slice(0, 'a', 'z' + 1).argmax().item<int64_t>() + 'a';
  const bool is_best_of_all = last_V.argmax().item<int64_t>() == best;
  const LastWord word = score_last_word(model, options, context + static_cast<char>(best) + "\n");
  EXPECT_EQ(word.word, std::string(1, static_cast<char>(best)));
  EXPECT_EQ(word.is_right_off, is_best_of_all);
  const double expected = -last_V.log_softmax(0)[best].item<double>();
  EXPECT_NEAR(word.nats_off, expected, 1e-4);
  EXPECT_EQ(word.nats_on, word.nats_off);  // no retrieval: both are the same
  // Another letter with a lower logit is wrong.
  const int64_t worst = last_V.slice(0, 'a', 'z' + 1).argmin().item<int64_t>() + 'a';
  EXPECT_FALSE(score_last_word(model, options, context + static_cast<char>(worst)).is_right_off);
}

}  // namespace
}  // namespace retro
