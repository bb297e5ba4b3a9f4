// eval/qa.json: open-book question answering.
#include <cmath>
#include <cstdlib>
#include <map>

#include <fmt/core.h>

#include "retro/report/html_table.h"
#include "retro/report/html_text.h"

#include "sections.h"

namespace retro {
namespace {

constexpr size_t kMostAnswers = 300;  // shown one by one

std::string scores_table(const Json& systems) {
  HtmlTable table;
  table.caption = "Answers, % of the test questions";
  table.columns = {"system", "exact match", "F1"};
  for (const Json& system : systems) {
    table.rows.push_back({text_cell(text_at(system, "name")),
                          number_cell(100 * number_at(system, "exact_match"), 1),
                          number_cell(100 * number_at(system, "f1"), 1)});
  }
  return to_html(table);
}

/// Shares by number of passages: the file's keys are texts, in whose order 20 comes before 5.
std::map<int, double> recall_of(const Json& questions) {
  std::map<int, double> recall;
  if (!questions.contains("recall_at") || !questions["recall_at"].is_object()) return recall;
  for (const auto& [k, share] : questions["recall_at"].items()) {
    if (share.is_number()) recall[std::atoi(k.c_str())] = share.get<double>();
  }
  return recall;
}

std::string recall_text(const Json& questions) {
  std::string text;
  for (const auto& [k, share] : recall_of(questions)) {
    text += fmt::format("{}{:.1f} % within the first {}", text.empty() ? "" : ", ", 100 * share, k);
  }
  return text.empty() ? "" : "<p>The passage that tells the answer is found: " + text + ".</p>";
}

std::string joined(const Json& list) {
  std::string text;
  for (const Json& entry : list) {
    if (entry.is_string()) text += (text.empty() ? "" : " / ") + entry.get<std::string>();
  }
  return text;
}

std::string answers_table(const Json& questions) {
  HtmlTable table;
  table.caption = "Question by question";
  table.is_sortable = true;
  table.columns = {"question", "answer"};
  for (const Json& system : list_at(questions, "systems"))
    table.columns.push_back(text_at(system, "name"));
  table.columns.push_back("rank of the telling passage");
  for (const Json& answer : list_at(questions, "answers")) {
    if (table.rows.size() == kMostAnswers) break;
    const Json predictions = answer.value("predictions", Json::object());
    std::vector<TableCell> cells{text_cell(text_at(answer, "question")),
                                 text_cell(joined(list_at(answer, "answers")))};
    for (const Json& system : list_at(questions, "systems"))
      cells.push_back(text_cell(text_at(predictions, text_at(system, "name").c_str())));
    const double rank = number_at(answer, "rank_of_telling_passage");
    cells.push_back(rank < 0 ? TableCell{"not found", "9999"} : number_cell(rank + 1, 0));
    table.rows.push_back(std::move(cells));
  }
  if (table.rows.empty()) return {};
  const size_t total = list_at(questions, "answers").size();
  const std::string which = total > kMostAnswers
                                ? fmt::format(" (the first {} of {})", kMostAnswers, total)
                                : std::string{};
  return fmt::format(
      "<details><summary>Question by question{}</summary><div class=text-table>{}</div></details>",
      which, to_html(table));
}

}  // namespace

std::string questions_html(const RunFiles& run) {
  if (list_at(run.questions, "systems").empty()) return {};
  const double test = number_at(run.questions, "test_questions");
  const double passages = number_at(run.questions, "passages");
  return fmt::format(
             "<p>{:g} test questions, answered with {:g} passages to read (open book) or none.</p>",
             test, passages) +
         scores_table(list_at(run.questions, "systems")) + recall_text(run.questions) +
         answers_table(run.questions);
}

}  // namespace retro
