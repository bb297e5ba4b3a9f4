#include "retro/eval/question_answering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/eval/answering.h"

#include "eval/tiny_evaluation.h"

namespace retro {
namespace {

using testing::ByteTokenizer;
using ::testing::HasSubstr;
using testing::kEvalChunk;
using testing::random_model;
using testing::TemporaryDirectory;

using Answers = std::vector<std::string>;

TEST(QuestionAnswering, AnswersAreNormalisedAsUsual) {
  EXPECT_EQ(normalise_answer("The  Quick, brown-fox!"), "quick brownfox");
  EXPECT_EQ(normalise_answer(" An apple a day "), "apple day");
  EXPECT_EQ(normalise_answer("theatre"), "theatre");
  EXPECT_EQ(normalise_answer("S\xC3\xA3o Tom\xC3\xA9."), "s\xC3\xA3o tom\xC3\xA9");
  EXPECT_TRUE(is_exact_match("the Nairobi.", Answers{"Mombasa", "Nairobi"}));
  EXPECT_FALSE(is_exact_match("Nairobi city", Answers{"Nairobi"}));
}

TEST(QuestionAnswering, F1ByHand) {
  // One word of two in common with an answer of three: precision 1/2, recall 1/3.
  EXPECT_DOUBLE_EQ(token_f1("red house", Answers{"big red barn"}), 2 * (1.0 / 6) / (5.0 / 6));
  EXPECT_DOUBLE_EQ(token_f1("red red", Answers{"red"}), 2 * 0.5 / 1.5);  // a word counts once
  EXPECT_DOUBLE_EQ(token_f1("x", Answers{"y", "the x"}), 1.0);
  EXPECT_DOUBLE_EQ(token_f1("", Answers{"y"}), 0.0);
}

TEST(QuestionAnswering, QuestionsAreReadAndChecked) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "questions.jsonl";
  write_file(path,
             R"({"question": "q?", "answers": ["a"], "title": "T", "split": "train"})"
             "\n"
             R"({"question": "r?", "answers": ["b", "c"], "document": "d1", "passages":)"
             R"( [{"title": "x", "text": "y", "document": "d0"}, {"text": "z", "document": "d1"}]})"
             "\n");
  const auto questions = read_questions(path);
  ASSERT_EQ(questions.size(), 2u);
  EXPECT_EQ(questions[0].split, "train");
  EXPECT_EQ(questions[1].answers, (Answers{"b", "c"}));
  EXPECT_EQ(rank_of_telling_passage(questions[0]), -1);
  EXPECT_EQ(rank_of_telling_passage(questions[1]), 1);
  write_file(path, "{\"question\": \"q?\", \"answers\": []}\n");
  try {
    read_questions(path);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("questions.jsonl:1: `answers` is empty"));
  }
}

constexpr int64_t kM = 32;

QaQuestion question_of(const std::string& text) {
  QaQuestion question;
  question.question = text;
  question.answers = {"yes"};
  question.passages = {{"T", "some text", ""}, {"U", std::string(80, 'x'), ""}};
  return question;
}

std::string text_of(std::span<const int32_t> tokens) { return ByteTokenizer().decode(tokens); }

TEST(QuestionAnswering, AnswerColonEndsTheFirstChunk) {
  const ByteTokenizer tokenizer;
  QaCuts cuts;
  const QaLayout layout = lay_out(question_of("Why?"), "yes", 3, kM, tokenizer, cuts);
  const std::string prompt = "question: Why? \n answer:";
  const size_t padding = kM - prompt.size();
  ASSERT_EQ(layout.tokens_N.size(), 2u * kM);
  EXPECT_EQ(text_of(std::span(layout.tokens_N).first(kM)), prompt);
  EXPECT_EQ(std::count(layout.is_real_N.begin(), layout.is_real_N.begin() + kM, 0),
            static_cast<int64_t>(padding));
  EXPECT_EQ(layout.is_real_N[padding], 1);
  EXPECT_EQ(layout.is_real_N[padding - 1], 0);
  EXPECT_EQ(text_of(std::span(layout.tokens_N).subspan(kM, 4)), " yes");
  EXPECT_EQ(layout.tokens_N[kM + 4], ByteTokenizer::kEnd);
  EXPECT_EQ(layout.num_answer_tokens, 5);
  EXPECT_EQ(std::count(layout.is_real_N.begin() + kM, layout.is_real_N.end(), 1), 5);
  const std::span<const int32_t> passages(layout.passages_KR);
  ASSERT_EQ(passages.size(), 3u * 2 * kM);
  const std::string first = "title: T, source: some text";
  EXPECT_EQ(text_of(passages.first(first.size())), first);
  EXPECT_EQ(passages[first.size()], -1);
  EXPECT_EQ(passages[2 * kM + 2 * kM - 1], 'x');  // cut to r
  EXPECT_EQ(passages[4 * kM], -1);                // missing
  EXPECT_EQ(cuts.passages, 1);
  EXPECT_EQ(cuts.questions + cuts.answers, 0);
}

TEST(QuestionAnswering, LongQuestionsAreCutFromTheLeft) {
  const ByteTokenizer tokenizer;
  QaCuts cuts;
  const QaLayout layout = lay_out(question_of("What is it that goes on and on?"),
                                  std::string(40, 'y'), 0, kM, tokenizer, cuts);
  const std::string whole = "question: What is it that goes on and on? \n answer:";
  EXPECT_EQ(text_of(std::span(layout.tokens_N).first(kM)), whole.substr(whole.size() - kM));
  EXPECT_EQ(layout.num_answer_tokens, kM);  // the answer cut to m - 1, end-of-document after it
  EXPECT_EQ(layout.tokens_N.back(), ByteTokenizer::kEnd);
  EXPECT_EQ(cuts.questions, 1);
  EXPECT_EQ(cuts.answers, 1);
}

/// A layout for a model of chunks of 4, by hand.
QaLayout tiny_layout(std::vector<int32_t> answer) {
  QaLayout layout;
  layout.tokens_N = {ByteTokenizer::kEnd, 'w', 'h', 'y'};
  layout.is_real_N = {0, 1, 1, 1, 0, 0, 0, 0};
  layout.num_answer_tokens = static_cast<int64_t>(answer.size());
  for (size_t i = 0; i < answer.size(); ++i) layout.is_real_N[4 + i] = 1;
  layout.tokens_N.insert(layout.tokens_N.end(), answer.begin(), answer.end());
  layout.tokens_N.resize(8, ByteTokenizer::kEnd);
  layout.passages_KR = {'b', 'e', 'c', 'a', 'u', 's', 'e', -1};
  return layout;
}

TEST(QuestionAnswering, OnlyTheAnswerIsATarget) {
  const std::vector<QaLayout> layouts = {tiny_layout({'n', 'o', ByteTokenizer::kEnd})};
  const Batch batch = qa_batch(layouts, kEvalChunk, true);
  const std::vector<bool> expected = {false, false, false, true, true, true, false, false};
  for (int64_t p = 0; p < 8; ++p) {
    EXPECT_EQ(batch.target_is_real_BN[0][p].item<bool>(), expected[static_cast<size_t>(p)]) << p;
  }
  EXPECT_EQ(batch.targets_BN[0][3].item<int64_t>(), 'n');
  EXPECT_EQ(batch.targets_BN[0][5].item<int64_t>(), ByteTokenizer::kEnd);
  EXPECT_EQ(batch.num_targets, 3);
  EXPECT_EQ(batch.neighbours_BLKR.sizes(), (std::vector<int64_t>{1, 2, 1, 8}));
  EXPECT_EQ(batch.neighbours_BLKR[0][1][0][0].item<int64_t>(), 'b');
  EXPECT_FALSE(qa_batch(layouts, kEvalChunk, false).neighbours_BLKR.defined());
}

TEST(QuestionAnswering, GreedyAnswersFollowTheModelsFirstChoices) {
  RetroModel model = random_model(false, 5);
  const std::vector<QaLayout> prompts = {tiny_layout({}), tiny_layout({})};
  const auto answers = greedy_answers(model, prompts, ByteTokenizer::kEnd, 3, true);
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0], answers[1]);
  // Each token again, from a forward pass over the answer so far.
  std::vector<int32_t> so_far;
  for (size_t t = 0; t <= answers[0].size() && t < 3; ++t) {
    const std::vector<QaLayout> given = {tiny_layout(so_far)};
    const Batch batch = qa_batch(given, kEvalChunk, true);
    const at::Tensor logits = model->logits(
        {batch.tokens_BN, batch.real_BN, batch.neighbours_BLKR, batch.document_BN, {}});
    const auto best = logits[0][3 + static_cast<int64_t>(t)].argmax().item<int64_t>();
    if (t == answers[0].size()) {
      EXPECT_EQ(best, ByteTokenizer::kEnd);
      break;
    }
    EXPECT_EQ(best, answers[0][t]);
    so_far.push_back(answers[0][t]);
  }
  // The passages matter.
  std::vector<QaLayout> other = prompts;
  other[0].passages_KR = {'x', 'x', 'x', 'x', -1, -1, -1, -1};
  EXPECT_FALSE(model
                   ->hidden({qa_batch(prompts, 4, true).tokens_BN,
                             {},
                             qa_batch(prompts, 4, true).neighbours_BLKR,
                             {},
                             {}})
                   .equal(model->hidden({qa_batch(other, 4, true).tokens_BN,
                                         {},
                                         qa_batch(other, 4, true).neighbours_BLKR,
                                         {},
                                         {}})));
}

}  // namespace
}  // namespace retro
