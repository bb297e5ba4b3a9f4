// `retro run`: the stages of a config, executed as child processes and skipped when up to date.
#pragma once

#include <string>
#include <vector>

#include "retro/run/run_config.h"

namespace retro {

/// Says what is up to date and how long the rest takes on this machine, and executes it. Returns 0,
/// or the exit status of the stage that failed.
///
/// Both functions hold RUN/run.lock and throw Error while another process does; both cut the run to
/// its time budget. The effective config is saved once nothing is left to refuse: a command that
/// throws before its first stage has changed nothing.
int execute_run(const RunConfig& config);

/// Executes the named stages in this process, those that are not up to date, and those whose
/// builder finds out by itself (Stage::replaces_itself) and repairs what is damaged; refuses when a
/// stage they read is missing, naming the command to run first.
int execute_stages(const RunConfig& config, const std::vector<std::string>& names);

}  // namespace retro
