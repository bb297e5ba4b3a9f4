// Executes the stages of a run that are not up to date.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "retro/run/stage_graph.h"

namespace retro {

struct RunnerOptions {
  int num_threads = 1;  ///< of the machine; stages side by side never use more together
  /// Command line of a stage's child process (without the program).
  std::function<std::vector<std::string>(const Stage&)> arguments;
};

/// Runs what is missing, in order, stages that fit beside one another side by side. Returns 0, or
/// the exit status of the first stage that failed (130 after an interrupt, once every child has
/// saved its work).
int run_stages(const StageGraph& graph, const RunnerOptions& options);

}  // namespace retro
