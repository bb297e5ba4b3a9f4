#include "retro/eval/question_answering.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/json.h"

namespace retro {

namespace {

QaQuestion parse_question(const nlohmann::json& fields, const std::string& where, int64_t number) {
  QaQuestion question;
  question.id = json_get_or<std::string>(fields, "id", std::to_string(number), where);
  question.question = json_get<std::string>(fields, "question", where);
  question.answers = json_get<std::vector<std::string>>(fields, "answers", where);
  question.split = json_get_or<std::string>(fields, "split", "test", where);
  question.document = json_get_or<std::string>(fields, "document", "", where);
  question.title = json_get_or<std::string>(fields, "title", "", where);
  RETRO_CHECK(!question.answers.empty(), "{}: `answers` is empty", where);
  RETRO_CHECK(question.split == "train" || question.split == "test",
              "{}: `split` is \"{}\", expected train or test", where, question.split);
  if (!fields.contains("passages")) return question;
  for (const nlohmann::json& passage : json_at(fields, "passages", where)) {
    question.passages.push_back({json_get_or<std::string>(passage, "title", "", where),
                                 json_get<std::string>(passage, "text", where),
                                 json_get_or<std::string>(passage, "document", "", where)});
  }
  return question;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

double f1(const std::vector<std::string>& prediction, const std::vector<std::string>& answer) {
  // Without a word on a side there is agreement only if the other has none either.
  if (prediction.empty() || answer.empty()) return prediction.empty() && answer.empty() ? 1 : 0;
  std::map<std::string, int64_t> left;
  for (const std::string& word : answer) ++left[word];
  int64_t common = 0;
  for (const std::string& word : prediction) {
    if (left[word]-- > 0) ++common;
  }
  if (common == 0) return 0;
  const double precision = static_cast<double>(common) / static_cast<double>(prediction.size());
  const double recall = static_cast<double>(common) / static_cast<double>(answer.size());
  return 2 * precision * recall / (precision + recall);
}

/// The first tokens of each passage.
void lay_out_passages(const QaQuestion& question, int64_t num_passages, const Tokenizer& tokenizer,
                      QaLayout& layout, QaCuts& cuts) {
  const size_t r = layout.tokens_N.size();
  layout.passages_KR.assign(static_cast<size_t>(num_passages) * r, -1);
  const size_t count = std::min(question.passages.size(), static_cast<size_t>(num_passages));
  for (size_t k = 0; k < count; ++k) {
    const QaPassage& passage = question.passages[k];
    const auto ids =
        tokenizer.encode(fmt::format("title: {}, source: {}", passage.title, passage.text)).ids;
    cuts.passages += ids.size() > r;
    std::copy_n(ids.begin(), std::min(ids.size(), r),
                layout.passages_KR.begin() + static_cast<std::ptrdiff_t>(k * r));
  }
}

}  // namespace

void QaConfig::visit_fields(FieldVisitor& visit) {
  visit("questions", questions,
        "JSONL of questions with answers (docs/formats.md); empty: no question answering");
  visit("passages", passages, "passages of a question, each a neighbour");
  visit("steps", steps, "fine-tuning steps; every weight is trained, the loss is the answer's");
  visit("batch_size", batch_size, "questions at once");
  visit("learning_rate", learning_rate, "highest learning rate of the fine-tuning");
  visit("warmup_steps", warmup_steps, "steps of its linear rise");
  visit("max_tokens", max_tokens, "tokens of an answer at most");
}

void check_qa_config(const QaConfig& config) {
  const auto at_least = [](const char* key, int64_t value, int64_t least) {
    RETRO_CHECK(value >= least, "qa.{} is {}: it must be at least {}", key, value, least);
  };
  at_least("passages", config.passages, 1);
  at_least("steps", config.steps, 0);
  at_least("batch_size", config.batch_size, 1);
  at_least("max_tokens", config.max_tokens, 1);
  RETRO_CHECK(config.learning_rate > 0, "qa.learning_rate is {}: it must be above 0",
              config.learning_rate);
}

std::vector<QaQuestion> read_questions(const std::string& path) {
  std::vector<QaQuestion> questions;
  std::istringstream lines(read_file(path));
  int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string where = fmt::format("{}:{}", path, ++number);
    const bool is_blank = line.find_first_not_of(" \t\r") == std::string::npos;
    if (!is_blank) questions.push_back(parse_question(parse_json(line, where), where, number));
  }
  RETRO_CHECK(!questions.empty(), "{}: no question in it", path);
  return questions;
}

std::string normalise_answer(std::string_view answer) {
  std::string plain;
  for (const char letter : answer) {
    const auto byte = static_cast<unsigned char>(letter);
    if (std::ispunct(byte) != 0) continue;
    plain += static_cast<char>(byte < 0x80 ? std::tolower(byte) : byte);
  }
  std::string result;
  for (const std::string& word : words_of(plain)) {
    if (word == "a" || word == "an" || word == "the") continue;
    result += (result.empty() ? "" : " ") + word;
  }
  return result;
}

bool is_exact_match(std::string_view prediction, std::span<const std::string> answers) {
  const std::string normalised = normalise_answer(prediction);
  return std::any_of(answers.begin(), answers.end(), [&](const std::string& answer) {
    return normalise_answer(answer) == normalised;
  });
}

double token_f1(std::string_view prediction, std::span<const std::string> answers) {
  const auto words = words_of(normalise_answer(prediction));
  double best = 0;
  for (const std::string& answer : answers)
    best = std::max(best, f1(words, words_of(normalise_answer(answer))));
  return best;
}

int64_t rank_of_telling_passage(const QaQuestion& question) {
  for (size_t rank = 0; rank < question.passages.size(); ++rank) {
    const QaPassage& passage = question.passages[rank];
    const bool knows_document = !question.document.empty() && !passage.document.empty();
    const bool tells = knows_document ? passage.document == question.document
                                      : !question.title.empty() && passage.title == question.title;
    if (tells) return static_cast<int64_t>(rank);
  }
  return -1;
}

QaLayout lay_out(const QaQuestion& question, std::string_view answer, int64_t num_passages,
                 int64_t chunk_length, const Tokenizer& tokenizer, QaCuts& cuts) {
  const auto m = static_cast<size_t>(chunk_length);
  QaLayout layout;
  layout.tokens_N.assign(2 * m, tokenizer.end_of_document());
  layout.is_real_N.assign(2 * m, 0);
  const auto prompt =
      tokenizer.encode(fmt::format("question: {} \n answer:", question.question)).ids;
  cuts.questions += prompt.size() > m;
  const size_t kept = std::min(prompt.size(), m);
  std::copy(prompt.end() - static_cast<std::ptrdiff_t>(kept), prompt.end(),
            layout.tokens_N.begin() + static_cast<std::ptrdiff_t>(m - kept));
  std::fill_n(layout.is_real_N.begin() + static_cast<std::ptrdiff_t>(m - kept), kept, 1);
  lay_out_passages(question, num_passages, tokenizer, layout, cuts);
  if (answer.empty()) return layout;
  const auto ids = tokenizer.encode(fmt::format(" {}", answer)).ids;
  cuts.answers += ids.size() + 1 > m;
  const size_t count = std::min(ids.size(), m - 1);
  std::copy_n(ids.begin(), count, layout.tokens_N.begin() + static_cast<std::ptrdiff_t>(m));
  // The end-of-document token after it stands there already.
  std::fill_n(layout.is_real_N.begin() + static_cast<std::ptrdiff_t>(m), count + 1, 1);
  layout.num_answer_tokens = static_cast<int64_t>(count) + 1;
  return layout;
}

}  // namespace retro
