// retro database compact | refresh | verify | stats
#include <fmt/core.h>

#include "retro/run/database_life.h"

#include "database_commands.h"

namespace retro::tools {

void add_care_commands(CLI::App& database) {
  CLI::App* compact = database.add_subcommand(
      "compact", "take deleted documents off the disk, put added ones into the index");
  const auto compacted = add_database_argument(*compact);
  compact->callback([compacted] {
    const RunConfig config = load_database_run(*compacted);
    compact_database(config);
    fmt::print("{}", describe_database(config));
  });

  CLI::App* refresh = database.add_subcommand(
      "refresh", "bring the run's neighbour tables to the database as it is now");
  const auto refreshed = add_database_argument(*refresh);
  refresh->callback([refreshed] { refresh_neighbours(load_database_run(*refreshed)); });

  CLI::App* verify = database.add_subcommand(
      "verify", "compare every byte with its checksum, measure the recall again");
  const auto verified = add_database_argument(*verify);
  verify->callback([verified] {
    const int64_t num_stale = verify_database(load_database_run(*verified));
    if (num_stale == 0) {
      fmt::print("all is well\n");
    } else {
      fmt::print(
          "nothing is damaged; `retro database refresh` brings {} neighbour tables to the "
          "database as it is now\n",
          num_stale);
    }
  });

  CLI::App* stats = database.add_subcommand("stats", "what a run's database holds");
  const auto described = add_database_argument(*stats);
  stats->callback(
      [described] { fmt::print("{}", describe_database(load_database_run(*described))); });
}

}  // namespace retro::tools
