// retro database build | query | stats
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "retro/core/progress.h"
#include "retro/core/wrap_text.h"
#include "retro/run/query.h"
#include "retro/run/whole_run.h"

#include "command.h"

namespace retro::tools {
namespace {

constexpr size_t kTextWidth = 100;  // columns

void print_answers(const std::vector<QueryAnswer>& answers) {
  if (answers.empty()) fmt::print("no neighbour: the text has no word the encoder reads\n");
  for (size_t rank = 0; rank < answers.size(); ++rank) {
    const QueryAnswer& answer = answers[rank];
    fmt::print("{}. {} / {}  (chunk {}, squared distance {:.4f})\n", rank + 1, answer.source,
               answer.title, answer.chunk_id, answer.distance);
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
                    {"title", answer.title},
                    {"text", answer.text},
                    {"continuation", answer.continuation}});
  }
  fmt::print("{}\n", list.dump(1));
}

void add_query(CLI::App& database) {
  struct Options {
    std::string config, text;
    int64_t k = 3;
    bool is_json = false;
  };
  CLI::App* command =
      database.add_subcommand("query", "the nearest chunks of a text, with their continuations");
  const auto options = std::make_shared<Options>();
  command->add_option("config", options->config, "run directory or its config")->required();
  command->add_option("text", options->text, "what to look for")->required();
  command->add_option("-k", options->k, "neighbours to show")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command->add_flag("--json", options->is_json, "print JSON");
  command->callback([options] {
    const auto answers =
        query_database(load_run_config(options->config, {}), options->text, options->k);
    options->is_json ? print_answers_json(answers) : print_answers(answers);
  });
}

void add_stats(CLI::App& database) {
  CLI::App* command = database.add_subcommand("stats", "what a run's database holds");
  const auto config = std::make_shared<std::string>();
  command->add_option("config", *config, "run directory or its config")->required();
  command->callback([config] {
    const RetrievalDatabase opened(RunPaths(load_run_config(*config, {})).database());
    fmt::print(
        "{} chunks of {} tokens, {} documents, keys of {} features\nversion {}\nkeys by {}\n",
        format_count(opened.num_chunks()), opened.chunk_length(),
        format_count(opened.num_documents()), opened.key_width(), opened.version(),
        opened.embedder_identity());
  });
}

}  // namespace

void add_database_command(CLI::App& app) {
  CLI::App* database = app.add_subcommand("database", "the retrieval database: build it, ask it");
  database->require_subcommand(1);
  CLI::App* build = database->add_subcommand("build", "chunks -> keys -> index");
  const auto arguments = add_config_arguments(*build, {"embed", "database", "index"});
  build->callback([arguments] {
    const int status = execute_stages(load(*arguments), {"database", "index"});
    if (status != 0) throw StatusExit{status};
  });
  add_query(*database);
  add_stats(*database);
}

}  // namespace retro::tools
