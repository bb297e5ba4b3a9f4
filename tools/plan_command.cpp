// retro plan CONFIG: how long the run takes on this machine.
#include <fmt/core.h>

#include "retro/core/progress.h"
#include "retro/run/calibration.h"

#include "command.h"

namespace retro::tools {

void add_plan_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "plan", "measure this machine for some seconds and say how long a run takes");
  const auto arguments = add_config_arguments(*command);
  command->callback([arguments] {
    const RunConfig config = load(*arguments);
    const MachineRates rates = measure_rates(config);
    const RunEstimate estimate = estimate_run(config, rates);
    fmt::print("embedding   {:>10.0f} chunks/s   {}\n", rates.chunks_per_second,
               format_duration(estimate.embed_seconds));
    fmt::print("RETRO       {:>10.0f} tokens/s   {} with the baseline beside it\n",
               rates.retro_tokens_per_second, format_duration(estimate.train_seconds));
    fmt::print("baseline    {:>10.0f} tokens/s\n", rates.baseline_tokens_per_second);
    fmt::print("evaluation                      {}\n", format_duration(estimate.eval_seconds));
    fmt::print("in all                          {}\n", format_duration(estimate.total()));
  });
}

}  // namespace retro::tools
