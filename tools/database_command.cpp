// retro database build | query | stats | add | ...: the group and what it builds.
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "retro/run/stages.h"
#include "retro/run/whole_run.h"

#include "database_commands.h"

namespace retro::tools {

std::shared_ptr<std::string> add_database_argument(CLI::App& command) {
  const auto database = std::make_shared<std::string>();
  command.add_option("database", *database, "run directory, its config, or its database directory")
      ->required();
  return database;
}

std::shared_ptr<bool> add_json_flag(CLI::App& command) {
  const auto is_json = std::make_shared<bool>(false);
  command.add_flag("--json", *is_json, "print JSON");
  return is_json;
}

void print_as_json(const nlohmann::json& value) {
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;  // a path may be any bytes
  fmt::print("{}\n", value.dump(1, ' ', false, kReplace));
}

void add_selection_options(CLI::App& command, DocumentSelection& selection) {
  command.add_option("--id", selection.ids, "documents with this id (may be repeated)");
  command.add_option("--source", selection.sources, "documents of this source (may be repeated)");
  command.add_option("--where", selection.where,
                     "condition on id, source, group, title or a field: 'year<1990', 'lang=en', "
                     "'title~draft', 'fields.source=x' (may be repeated: all must hold)");
  command.add_option("--containing", selection.containing, "documents whose text holds this");
}

namespace {

const char* const kDatabaseExamples =
    "Examples (docs/database.md has a whole session):\n"
    "  retro database add runs/x notes/ page.html --source mine\n"
    "  retro database query runs/x \"a flood\" --source mine\n"
    "  retro database delete runs/x --where 'year<1990' --dry-run\n"
    "  retro database compact runs/x\n";

}  // namespace

void add_database_command(CLI::App& app) {
  CLI::App* database = app.add_subcommand(
      "database", "the retrieval database: build it, ask it, add to it, delete from it");
  database->require_subcommand(1);
  CLI::App* build = database->add_subcommand("build", "chunks -> keys -> index");
  const auto arguments = add_config_arguments(*build, {"embed", "database", "index"});
  const auto part = add_part_option(*build,
                                    "I/N: only shards I, I+N, ... (I from 0), for N processes at "
                                    "once; then build without --part");
  build->callback([arguments, part] {
    if (!part->empty()) return build_run_database_part(load(*arguments), parse_part(*part));
    const int status = execute_stages(load(*arguments), {"database", "index"});
    if (status != 0) throw StatusExit{status};
  });
  add_query_command(*database);
  add_add_commands(*database);
  add_delete_command(*database);
  add_care_commands(*database);
  add_export_command(*database);
  database->footer(kDatabaseExamples);  // after the subcommands, which would inherit it
}

}  // namespace retro::tools
