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

struct Measured {
  MachineRates rates;
  RunEstimate estimate;
};

Measured measure(const RunConfig& config) {
  Measured measured;
  measured.rates = measure_rates(config);
  measured.estimate = estimate_run(config, measured.rates);
  return measured;
}

void print_training(const Measured& measured) {
  const double baseline_rate = measured.rates.baseline_tokens_per_second;
  print_row("training RETRO",
            fmt::format("{:.0f} tokens/s", measured.rates.retro_tokens_per_second),
            format_duration(measured.estimate.train_seconds) +
                (baseline_rate > 0 ? ", the baseline beside it" : ""));
  if (baseline_rate > 0)
    print_row("training a baseline", fmt::format("{:.0f} tokens/s", baseline_rate), "");
  print_row("evaluation", "", format_duration(measured.estimate.eval_seconds));
}

void print_measured(const RunConfig& config) {
  const Measured measured = measure(config);
  print_row("", "this machine", "the run");
  print_row("embedding", fmt::format("{:.0f} chunks/s", measured.rates.chunks_per_second),
            format_duration(measured.estimate.embed_seconds));
  if (has_training_text(config)) print_training(measured);
  print_row("in all", "", format_duration(measured.estimate.total()));
}

void print_json(const RunConfig& config, const ResourcePlan& plan, bool with_measured) {
  nlohmann::json object = to_json(plan);
  if (with_measured) {
    const Measured measured = measure(config);
    object["measured"] = to_json(measured.rates, measured.estimate);
  }
  fmt::print("{}\n", object.dump(2));
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
    if (options->json) return print_json(config, plan, options->measure);
    for (const std::string& line : describe(plan, config)) fmt::print("{}\n", line);
    if (options->measure) print_measured(config);
  });
}

}  // namespace retro::tools
