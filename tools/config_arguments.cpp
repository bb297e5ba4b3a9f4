#include "retro/core/config_yaml.h"

#include "command.h"

namespace retro::tools {

std::shared_ptr<ConfigArguments> add_config_arguments(CLI::App& command) {
  auto arguments = std::make_shared<ConfigArguments>();
  command.add_option("config", arguments->config, "YAML file of the run, or its run directory")
      ->required();
  command.add_option("overrides", arguments->overrides,
                     "key=value, any key of the config (train.steps=200)");
  command.footer(
      [] { return "Keys of the config, with their defaults:\n" + config_help<RunConfig>(); });
  return arguments;
}

RunConfig load(const ConfigArguments& arguments) {
  return load_run_config(arguments.config, arguments.overrides);
}

}  // namespace retro::tools
