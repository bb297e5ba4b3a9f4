#include <algorithm>
#include <cstdio>
#include <sstream>

#include "retro/core/config_yaml.h"
#include "retro/core/error.h"

#include "command.h"

namespace retro::tools {

namespace {

/// Lines of config_help whose key is of one of the sections, with the lines that continue them.
std::string help_of_sections(const std::vector<std::string>& sections) {
  std::istringstream help(config_help<RunConfig>());
  std::string chosen;
  bool is_wanted = false;
  for (std::string line; std::getline(help, line);) {
    if (!line.starts_with(' ')) {
      const std::string section = line.substr(0, line.find_first_of(". "));
      is_wanted = sections.empty() ||
                  std::find(sections.begin(), sections.end(), section) != sections.end();
    }
    if (is_wanted) chosen += line + "\n";
  }
  return chosen;
}

}  // namespace

std::shared_ptr<ConfigArguments> add_config_arguments(CLI::App& command,
                                                      std::vector<std::string> sections) {
  auto arguments = std::make_shared<ConfigArguments>();
  command.add_option("config", arguments->config, "YAML file of the run, or its run directory")
      ->required();
  command.add_option("overrides", arguments->overrides,
                     "key=value, any key of the config (train.steps=200)");
  command.footer([sections = std::move(sections)] {
    const std::string rest = sections.empty() ? "" : "\nEvery other key: retro run --help\n";
    return "Keys of the config that decide this command, with their defaults:\n" +
           help_of_sections(sections) + rest;
  });
  return arguments;
}

RunConfig load(const ConfigArguments& arguments) {
  return load_run_config(arguments.config, arguments.overrides);
}

std::shared_ptr<std::string> add_part_option(CLI::App& command, const std::string& help) {
  auto part = std::make_shared<std::string>();
  command.add_option("--part", *part, help);
  return part;
}

BuildPart parse_part(const std::string& text) {
  BuildPart part;
  char end = 0;
  RETRO_CHECK(std::sscanf(text.c_str(), "%ld/%ld%c", &part.index, &part.count, &end) == 2,
              "--part is `{}`, expected I/N, as in 0/4", text);
  return part;
}

}  // namespace retro::tools
