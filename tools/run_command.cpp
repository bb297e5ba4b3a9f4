// retro run CONFIG: every stage that is not up to date, in order.
#include "retro/run/whole_run.h"

#include "command.h"

namespace retro::tools {

void add_run_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("run", "execute every stage of a run that is not up to date");
  const auto arguments = add_config_arguments(*command);
  command->callback([arguments] {
    const int status = execute_run(load(*arguments));
    if (status != 0) throw StatusExit{status};
  });
}

}  // namespace retro::tools
