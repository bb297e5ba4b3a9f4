// retro ablate LIST: a run for each row and seed, and their table.
#include <fmt/core.h>

#include "retro/run/ablations.h"

#include "command.h"

namespace retro::tools {

void add_ablate_command(CLI::App& app) {
  struct Options {
    std::string list, only;
    std::vector<std::string> overrides;
    bool is_table = false, is_json = false;
  };
  CLI::App* command = app.add_subcommand(
      "ablate", "run every row of a list of ablations with every seed; one table of them all");
  const auto options = std::make_shared<Options>();
  command->add_option("list", options->list, "YAML list (configs/ablations/*.yaml)")->required();
  command->add_option("overrides", options->overrides, "key=value for every run (train.steps=500)");
  command->add_option("--only", options->only, "run this row alone");
  command->add_flag("--table", options->is_table, "run nothing: the table of what is finished");
  command->add_flag("--json", options->is_json, "print the table as JSON");
  command->callback([options] {
    const AblationList list = load_ablations(options->list);
    const int status =
        options->is_table ? 0 : execute_ablations(list, options->overrides, options->only);
    if (status != 0) throw StatusExit{status};
    const auto figures = ablation_figures(list);
    fmt::print("{}",
               options->is_json ? ablations_json(list, figures) : format_ablations(list, figures));
  });
}

}  // namespace retro::tools
