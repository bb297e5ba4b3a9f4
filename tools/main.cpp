// retro: one binary, one subcommand per task.
#include <algorithm>
#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>

#include "retro/core/config_yaml.h"
#include "retro/core/error.h"
#include "retro/core/log.h"
#include "retro/run/build_facts.h"

#include "command.h"

namespace retro::tools {
namespace {

/// CLI11 says only that a subcommand is missing; a misspelt one deserves its name and the nearest.
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

}  // namespace
}  // namespace retro::tools

int main(int argc, char** argv) {
  using namespace retro::tools;
  CLI::App app{"retro: pretrain, evaluate and sample retrieval-augmented language models"};
  app.set_version_flag("--version", [] { return retro::build_facts(); });
  app.require_subcommand(1);
  app.fallthrough(false);
  add_run_command(app);
  add_stage_commands(app);
  add_database_command(app);
  add_sample_command(app);
  add_plan_command(app);
  try {
    check_command(app, argc, argv);
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const StatusExit& stop) {
    return stop.status;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
  return 0;
}
