// What the program says to someone who does not know its commands.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace retro::tools {

constexpr int kUsageStatus = 2;      ///< exit status of a wrong command line
extern const char* const kExamples;  ///< for the end of retro --help

/// CLI11 says only that a subcommand is missing; a misspelt one deserves its name and the nearest:
/// throws Error.
void check_command(const CLI::App& app, int argc, char** argv);
/// "error: config is required (retro run --help)".
std::string usage_error(const CLI::App* app, const CLI::Error& error);

}  // namespace retro::tools
