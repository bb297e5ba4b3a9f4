// retro database compact | refresh | verify | stats
#include <fmt/core.h>

#include "retro/run/database_json.h"

#include "database_commands.h"

namespace retro::tools {
namespace {

void print_facts(const RunConfig& config, bool is_json) {
  const DatabaseFacts facts = database_facts(config);
  if (is_json) return print_as_json(to_json(facts));
  fmt::print("{}", format_facts(facts));
}

void print_verification(const DatabaseVerification& found, bool is_json) {
  if (is_json) return print_as_json(to_json(found));
  if (found.num_stale_tables == 0) return fmt::print("all is well\n");
  fmt::print(
      "nothing is damaged; `retro database refresh` brings {} neighbour tables to the database as "
      "it is now\n",
      found.num_stale_tables);
}

}  // namespace

void add_care_commands(CLI::App& database) {
  CLI::App* compact = database.add_subcommand(
      "compact", "take deleted documents off the disk, put added ones into the index");
  compact->callback([path = add_database_argument(*compact), is_json = add_json_flag(*compact)] {
    const RunConfig config = load_database_run(*path);
    compact_database(config);
    print_facts(config, *is_json);
  });

  CLI::App* refresh = database.add_subcommand(
      "refresh", "bring the run's neighbour tables to the database as it is now");
  refresh->callback([path = add_database_argument(*refresh), is_json = add_json_flag(*refresh)] {
    const auto tables = refresh_neighbours(load_database_run(*path));
    if (*is_json) print_as_json(to_json(tables));
  });

  CLI::App* verify = database.add_subcommand(
      "verify", "compare every byte with its checksum, measure the recall again");
  verify->callback([path = add_database_argument(*verify), is_json = add_json_flag(*verify)] {
    print_verification(verify_database(load_database_run(*path)), *is_json);
  });

  CLI::App* stats = database.add_subcommand("stats", "what a run's database holds");
  stats->callback([path = add_database_argument(*stats), is_json = add_json_flag(*stats)] {
    print_facts(load_database_run(*path), *is_json);
  });
}

}  // namespace retro::tools
