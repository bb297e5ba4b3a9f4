// What every subcommand shares: its config argument and overrides.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "retro/run/run_config.h"

namespace retro::tools {

/// CONFIG (a YAML file or a run directory) and "key=value" overrides.
struct ConfigArguments {
  std::string config;
  std::vector<std::string> overrides;
};

/// Ends the program with a status without a message (130 after an interrupt).
struct StatusExit {
  int status;
};

/// Adds CONFIG and the overrides to a command; its --help then documents the keys of `sections`
/// ("train"), or every key where none is named.
std::shared_ptr<ConfigArguments> add_config_arguments(CLI::App& command,
                                                      std::vector<std::string> sections = {});
RunConfig load(const ConfigArguments& arguments);

/// Adds --part I/N; empty where it is not given.
std::shared_ptr<std::string> add_part_option(CLI::App& command, const std::string& help);
/// "0/4". Throws Error for anything else.
BuildPart parse_part(const std::string& text);

void add_run_command(CLI::App& app);
void add_stage_commands(CLI::App& app);
void add_database_command(CLI::App& app);
void add_exchange_commands(CLI::App& app);
void add_sample_command(CLI::App& app);
void add_bundle_command(CLI::App& app);
void add_report_command(CLI::App& app);
void add_score_command(CLI::App& app);
void add_ablate_command(CLI::App& app);
void add_plan_command(CLI::App& app);

}  // namespace retro::tools
