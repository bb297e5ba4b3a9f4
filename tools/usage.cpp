#include "usage.h"

#include <algorithm>

#include "retro/core/config_yaml.h"
#include "retro/core/error.h"

namespace retro::tools {

void check_command(const CLI::App& app, int argc, char** argv) {
  const std::vector<const CLI::App*> commands =
      app.get_subcommands([](const CLI::App*) { return true; });
  if (argc < 2 || argv[1][0] == '-' || commands.empty()) return;
  std::vector<std::string> names;
  for (const CLI::App* command : commands) {
    if (command->get_name() == argv[1]) return check_command(*command, argc - 1, argv + 1);
    names.push_back(command->get_name());
  }
  const std::string nearest = nearest_name(argv[1], names);
  const std::string whole = app.get_parent() == nullptr ? "retro" : "retro " + app.get_name();
  throw Error(fmt::format("unknown command `{}`{} ({} --help lists the commands)", argv[1],
                          nearest.empty() ? "" : fmt::format(", did you mean `{}`?", nearest),
                          whole));
}

const char* const kExamples =
    "Examples:\n"
    "  retro plan configs/quickstart.yaml --measure        what the run takes, and how long here\n"
    "  retro run configs/quickstart.yaml train.steps=2000  all of it, with a key of the config "
    "changed\n"
    "  retro sample runs/quickstart -p \"In the beginning\"  write on from a prompt (64 tokens or "
    "more: what follows reads)\n"
    "  retro database query runs/quickstart \"a flood\"      passages near a text\n"
    "  retro report runs/quickstart runs/other             one page that compares two runs\n"
    "\nEvery key of a configuration, with its default: retro run --help\n";

std::string usage_error(const CLI::App* app, const CLI::Error& error) {
  std::string command = "retro";
  for (auto used = app->get_subcommands(); !used.empty(); used = used.front()->get_subcommands())
    command += " " + used.front()->get_name();
  return fmt::format("error: {} ({} --help)\n", error.what(), command);
}

}  // namespace retro::tools
