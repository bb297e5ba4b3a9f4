// Executes the stages of a run that are not up to date.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "retro/run/child_process.h"
#include "retro/run/stage_graph.h"

namespace retro {

struct RunnerOptions {
  int num_threads = 1;  ///< of the machine; stages side by side never use more together
  std::filesystem::path program = own_executable();
  /// Command line of a stage's child process (without the program).
  std::function<std::vector<std::string>(const Stage&)> arguments;
};

/// Runs what is missing, in order, stages that fit beside one another side by side. Returns 0, or
/// the exit status of the first stage that failed (130 after an interrupt, once every child has
/// saved its work). What a failed stage made before is put back unless it made something new.
/// Throws Error where a stage waits for one that ended well and is not finished.
int run_stages(const StageGraph& graph, const RunnerOptions& options);

}  // namespace retro
