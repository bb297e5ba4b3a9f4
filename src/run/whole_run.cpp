#include "retro/run/whole_run.h"

#include <algorithm>
#include <chrono>

#include "retro/core/bundle.h"
#include "retro/core/config_yaml.h"
#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/log.h"
#include "retro/core/progress.h"
#include "retro/core/seconds_since.h"
#include "retro/ops/device.h"
#include "retro/retrieval/database_writer.h"
#include "retro/run/calibration.h"
#include "retro/run/stage_runner.h"
#include "retro/run/stages.h"

namespace retro {
namespace {

StageGraph open_run(const RunConfig& config) {
  refuse_bundle(config.directory);
  std::filesystem::create_directories(config.directory);
  write_file(RunPaths(config).config(), to_yaml(config));
  return StageGraph(config.directory, list_stages(config));
}

}  // namespace

int execute_run(const RunConfig& asked) {
  const auto start = std::chrono::steady_clock::now();
  (void)resolve_device(asked.device);  // said before anything is begun
  const RunConfig config = fit_to_budget(asked);
  const StageGraph graph = open_run(config);
  // A stage that is begun anew removes its outputs.
  if (graph.state("database") == StageState::kStale) {
    refuse_to_undo_changes(RunPaths(config).database());
  }
  RunnerOptions options;
  options.num_threads = run_threads(config);
  options.arguments = [&config](const Stage& stage) {
    return std::vector<std::string>{"stage", stage.name, RunPaths(config).config().string(),
                                    fmt::format("threads={}", stage.num_threads)};
  };
  const int status = run_stages(graph, options);
  if (status == 0) {
    log_info("the run is complete after {}: open {}", format_duration(seconds_since(start)),
             RunPaths(config).report().string());
  }
  return status;
}

int execute_stages(const RunConfig& config, const std::vector<std::string>& names) {
  (void)resolve_device(config.device);
  const StageGraph graph = open_run(config);
  const bool has_any = std::any_of(names.begin(), names.end(),
                                   [&](const auto& name) { return graph.contains(name); });
  RETRO_CHECK(has_any, "this run has no stage `{}`: {}", names.back(),
              config.fit.is_enabled() ? "fit.base is set, so it is fitted (retro fit)"
                                      : "fit.base is empty, so it is trained (retro train)");
  for (const std::string& name : names) {
    if (!graph.contains(name)) continue;  // the baseline's, in a run without one
    if (graph.state(name) == StageState::kFinished) {
      log_info("[{}] up to date", graph.stage(name).title);
      continue;
    }
    const auto missing = graph.missing_inputs(name);
    RETRO_CHECK(
        missing.empty(),
        "stage `{}` needs `{}`, which is not there or was made from something else: `retro run {}` "
        "makes it and the rest",
        name, missing.empty() ? "" : missing.front(), RunPaths(config).config().string());
    if (name == "database") refuse_to_undo_changes(RunPaths(config).database());
    const auto start = std::chrono::steady_clock::now();
    graph.begin(name);
    const int status = execute_stage(config, name);
    if (status != 0) return status;
    graph.finish(name, seconds_since(start));
  }
  return 0;
}

}  // namespace retro
