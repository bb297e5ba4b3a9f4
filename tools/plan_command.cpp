// retro plan CONFIG: what a run takes in memory, disk and compute, and how long on this machine.
#include <filesystem>

#include <fmt/core.h>

#include "retro/core/error.h"
#include "retro/core/progress.h"
#include "retro/run/calibration.h"
#include "retro/run/resource_plan.h"

#include "command.h"

namespace retro::tools {

namespace {

struct PlanArguments {
  std::string tokens;
  bool measure = false;
  bool json = false;
};

void print_row(const std::string& part, const std::string& rate, const std::string& time) {
  fmt::print("{:<20}  {:>16}  {}\n", part, rate, time);
}

void print_measured(const RunConfig& config) {
  const MachineRates rates = measure_rates(config);
  const RunEstimate estimate = estimate_run(config, rates);
  print_row("", "this machine", "the run");
  print_row("embedding", fmt::format("{:.0f} chunks/s", rates.chunks_per_second),
            format_duration(estimate.embed_seconds));
  print_row("training RETRO", fmt::format("{:.0f} tokens/s", rates.retro_tokens_per_second),
            format_duration(estimate.train_seconds) + ", the baseline beside it");
  print_row("training a baseline", fmt::format("{:.0f} tokens/s", rates.baseline_tokens_per_second),
            "");
  print_row("evaluation", "", format_duration(estimate.eval_seconds));
  print_row("in all", "", format_duration(estimate.total()));
}

}  // namespace

void add_plan_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("plan", "say what a run takes in memory, disk and compute");
  const auto arguments = add_config_arguments(*command);
  const auto options = std::make_shared<PlanArguments>();
  command->add_option("--tokens", options->tokens,
                      "tokens of the database's text: 300M, 36B, 1.75T (default: from its files)");
  command->add_flag("--measure", options->measure,
                    "also work for some seconds and say how long the run takes here");
  command->add_flag("--json", options->json, "the figures as one JSON object");
  command->callback([arguments, options] {
    const RunConfig config = load(*arguments);
    const double tokens = options->tokens.empty() ? estimate_database_tokens(config)
                                                  : parse_token_count(options->tokens);
    const ResourcePlan plan = plan_resources(config, tokens);
    if (options->json) {
      fmt::print("{}\n", to_json(plan).dump(2));
      return;
    }
    for (const std::string& line : describe(plan, config)) fmt::print("{}\n", line);
    if (options->measure) print_measured(config);
  });
}

}  // namespace retro::tools
