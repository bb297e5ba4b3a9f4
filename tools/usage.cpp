#include "usage.h"

#include <algorithm>

#include "retro/core/config_yaml.h"
#include "retro/core/error.h"

namespace retro::tools {

void check_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  if (std::find(names.begin(), names.end(), argv[1]) != names.end()) return;
  const std::string nearest = nearest_name(argv[1], names);
  throw Error(fmt::format("unknown command `{}`{} (retro --help lists the commands)", argv[1],
                          nearest.empty() ? "" : fmt::format(", did you mean `{}`?", nearest)));
}

const char* const kExamples =
    "Examples:\n"
    "  retro plan configs/quickstart.yaml --measure        what the run takes, and how long here\n"
    "  retro run configs/quickstart.yaml train.steps=2000  all of it, with a key of the config "
    "changed\n"
    "  retro sample runs/quickstart -p \"In the beginning\"  write on from a prompt\n"
    "  retro database query runs/quickstart \"a flood\"      passages near a text\n"
    "  retro report runs/quickstart runs/other             one page that compares two runs\n";

std::string usage_error(const CLI::App* app, const CLI::Error& error) {
  std::string command = "retro";
  for (auto used = app->get_subcommands(); !used.empty(); used = used.front()->get_subcommands())
    command += " " + used.front()->get_name();
  return fmt::format("error: {} ({} --help)\n", error.what(), command);
}

}  // namespace retro::tools
