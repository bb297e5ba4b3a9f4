// Open-book question answering (METHOD section 6, [R] section 4.4): questions, scores, layout.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "retro/core/config.h"
#include "retro/text/tokenizer.h"

namespace retro {

/// The `qa` section of a configuration.
struct QaConfig {
  std::string questions;   ///< JSONL; empty: no question answering
  int64_t passages = 20;   ///< neighbours of a question
  int64_t steps = 300;     ///< of fine-tuning, all weights, loss on the answers
  int64_t batch_size = 8;  ///< questions at once
  double learning_rate = 3e-4;
  int64_t warmup_steps = 20;
  int64_t max_tokens = 32;  ///< of an answer
  void visit_fields(FieldVisitor& visit);
};
/// Throws Error naming the key.
void check_qa_config(const QaConfig& config);

struct QaPassage {
  std::string title;
  std::string text;
  std::string document;  ///< id, where known
};

/// A line of an NQ-style JSONL file: `question`, `answers`; optional: `id`, `split` ("train",
/// "test"), `passages` ([{title, text, document}]), `document` and `title` (where the answer
/// stands).
struct QaQuestion {
  std::string id;
  std::string question;
  std::vector<std::string> answers;
  std::string split = "test";
  std::vector<QaPassage> passages;
  std::string document;
  std::string title;
};
/// Throws Error naming the file and line.
std::vector<QaQuestion> read_questions(const std::string& path);

/// The usual normalisation (Rajpurkar et al., arXiv 1606.05250): lower case, no punctuation, no
/// articles, single spaces. ASCII only; other bytes stay.
std::string normalise_answer(std::string_view answer);
/// Equal to one of the answers after normalisation.
bool is_exact_match(std::string_view prediction, std::span<const std::string> answers);
/// The largest F1 of words in common over the answers.
double token_f1(std::string_view prediction, std::span<const std::string> answers);
/// Rank of the first passage that is the question's document (or, without one, title); -1 if none
/// is, or neither is known.
int64_t rank_of_telling_passage(const QaQuestion& question);

/// What was cut to make things fit.
struct QaCuts {
  int64_t questions = 0;
  int64_t answers = 0;
  int64_t passages = 0;
};

/// Two chunks of m: "question: ... \n answer:" padded on the left so that it ends chunk 0, then the
/// answer and the end-of-document token in chunk 1. Passages: "title: ..., source: ...", one
/// neighbour of 2m tokens each, for both chunks.
struct QaLayout {
  std::vector<int32_t> tokens_N;     ///< 2m ids; padding is end-of-document
  std::vector<uint8_t> is_real_N;    ///< of the prompt and the answer
  int64_t num_answer_tokens = 0;     ///< end-of-document counted
  std::vector<int32_t> passages_KR;  ///< -1 padded; missing passages are all -1
};

/// The prompt without an answer where `answer` is empty. A question that is too long loses tokens
/// from the left (its "question:" with them), an answer and a passage from the right.
QaLayout lay_out(const QaQuestion& question, std::string_view answer, int64_t num_passages,
                 int64_t chunk_length, const Tokenizer& tokenizer, QaCuts& cuts);

}  // namespace retro
