// retro database query
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "retro/core/error.h"
#include "retro/core/wrap_text.h"
#include "retro/run/database_life.h"
#include "retro/run/query.h"

#include "database_commands.h"

namespace retro::tools {
namespace {

constexpr size_t kTextWidth = 100;  // columns

void print_answers(const std::vector<QueryAnswer>& answers) {
  if (answers.empty()) {
    fmt::print("no neighbour: the text has no word the encoder reads\n");
  }
  for (size_t rank = 0; rank < answers.size(); ++rank) {
    const QueryAnswer& answer = answers[rank];
    const std::string title = answer.title == answer.id ? "" : "  " + answer.title;
    fmt::print("{}. {} / {}{}  (chunk {}, squared distance {:.4f})\n", rank + 1, answer.source,
               answer.id, title, answer.chunk_id, answer.distance);
    const std::string next =
        answer.continuation.empty() ? "(end of document)" : answer.continuation;
    fmt::print("{}{}\n", wrap_text(answer.text, kTextWidth, "   "),
               wrap_text("-> " + next, kTextWidth, "   "));
  }
}

void print_answers_json(const std::vector<QueryAnswer>& answers) {
  auto list = nlohmann::json::array();
  for (const QueryAnswer& answer : answers) {
    list.push_back({{"chunk_id", answer.chunk_id},
                    {"squared_distance", answer.distance},
                    {"source", answer.source},
                    {"id", answer.id},
                    {"title", answer.title},
                    {"text", answer.text},
                    {"continuation", answer.continuation}});
  }
  print_as_json(list);
}

}  // namespace

void add_query_command(CLI::App& database) {
  struct Options {
    std::string text;
    int64_t k = 3;
    DocumentSelection selection;
  };
  CLI::App* command =
      database.add_subcommand("query", "the nearest chunks of a text, with their continuations");
  const auto path = add_database_argument(*command);
  const auto options = std::make_shared<Options>();
  command->add_option("text", options->text, "what to look for")->required();
  command->add_option("-k", options->k, "neighbours to show")->capture_default_str();
  const auto is_json = add_json_flag(*command);
  add_selection_options(*command, options->selection);
  command->callback([path, options, is_json] {
    RETRO_CHECK(options->k > 0, "-k is {}: at least one neighbour can be shown", options->k);
    const auto answers =
        query_database(load_database_run(*path), options->text, options->k, options->selection);
    *is_json ? print_answers_json(answers) : print_answers(answers);
  });
}

}  // namespace retro::tools
