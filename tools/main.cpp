// retro: one binary, one subcommand per task.
#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>

#include "retro/core/log.h"
#include "retro/run/build_facts.h"

#include "command.h"
#include "output.h"
#include "usage.h"

namespace retro::tools {
namespace {

void add_commands(CLI::App& app) {
  app.name("retro");
  app.failure_message(usage_error);
  app.set_version_flag("--version", [] { return build_facts(); });
  app.require_subcommand(1);
  app.fallthrough(false);
  add_plan_command(app);
  add_run_command(app);
  add_stage_commands(app);
  add_database_command(app);
  add_sample_command(app);
  add_bundle_command(app);
  add_score_command(app);
  add_exchange_commands(app);
  add_report_command(app);
  add_ablate_command(app);
  app.footer(kExamples);  // after the subcommands, which would inherit it
}

/// Returns the exit status; throws for what goes wrong.
int run(CLI::App& app, int argc, char** argv) {
  if (argc < 2) {
    std::fputs(app.help().c_str(), stdout);
    return kUsageStatus;
  }
  try {
    check_command(app, argc, argv);
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsageStatus;
  } catch (const StatusExit& stop) {
    return stop.status;
  }
  return 0;
}

}  // namespace
}  // namespace retro::tools

int main(int argc, char** argv) {
  using namespace retro::tools;
  CLI::App app{"retro: pretrain, evaluate and sample retrieval-augmented language models"};
  try {
    add_commands(app);
    const int status = run(app, argc, argv);
    finish_output();
    return status;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
