// The subcommands of `retro database`, and what they share.
#pragma once

#include <memory>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "retro/retrieval/document_selection.h"

#include "command.h"

namespace retro::tools {

/// Adds DATABASE: a run directory, its config, or its database directory.
std::shared_ptr<std::string> add_database_argument(CLI::App& command);
/// Adds --json.
std::shared_ptr<bool> add_json_flag(CLI::App& command);
void print_as_json(const nlohmann::json& value);
/// Adds --id, --source, --where, --containing. `selection` must outlive the command.
void add_selection_options(CLI::App& command, DocumentSelection& selection);

void add_query_command(CLI::App& database);
void add_add_commands(CLI::App& database);  ///< add, update
void add_delete_command(CLI::App& database);
void add_care_commands(CLI::App& database);  ///< compact, refresh, verify, stats
void add_export_command(CLI::App& database);

}  // namespace retro::tools
