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

/// Before anything is removed: without text nothing could be made in its place.
void require_text(const RunConfig& config) {
  refuse_bundle(config.directory);
  RETRO_CHECK(
      !config.corpus.sources.empty(),
      "{}: there is no text to run from (corpus.sources is empty, as in an unpacked bundle); "
      "`retro sample`, `retro score` and `retro database` work on it as it is, or name "
      "sources in a config",
      config.directory);
}

StageGraph open_run(const RunConfig& config) {
  std::filesystem::create_directories(config.directory);
  write_file(RunPaths(config).config(), to_yaml(config));
  return StageGraph(config.directory, list_stages(config));
}

std::string why_there_is_no(const std::string& stage, const RunConfig& config) {
  if (stage == "knn") return "knn.enabled is false";
  if (stage == "qa") return "qa.questions names no file";
  return config.fit.is_enabled() ? "fit.base is set, so it is fitted (retro fit)"
                                 : "fit.base is empty, so it is trained (retro train)";
}

}  // namespace

int execute_run(const RunConfig& asked) {
  const auto start = std::chrono::steady_clock::now();
  (void)resolve_device(asked.device);  // said before anything is begun
  require_text(asked);
  const RunConfig config = fit_to_budget(asked);
  const StageGraph graph = open_run(config);
  // Said before the stages ahead of it; its builder asks again, under the writer's lock.
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
  require_text(config);
  const StageGraph graph = open_run(config);
  const bool has_any = std::any_of(names.begin(), names.end(),
                                   [&](const auto& name) { return graph.contains(name); });
  RETRO_CHECK(has_any, "this run has no stage `{}`: {}", names.back(),
              why_there_is_no(names.back(), config));
  for (const std::string& name : names) {
    if (!graph.contains(name)) continue;  // the baseline's, in a run without one
    const bool is_finished = graph.state(name) == StageState::kFinished;
    // Damage, and what a command has changed since, only a builder notices.
    if (is_finished && !graph.stage(name).replaces_itself) {
      log_info("[{}] up to date", graph.stage(name).title);
      continue;
    }
    const auto missing = graph.missing_inputs(name);
    RETRO_CHECK(
        missing.empty(),
        "stage `{}` needs `{}`, which is not there or was made from something else: `retro run {}` "
        "makes it and the rest",
        name, missing.empty() ? "" : missing.front(), RunPaths(config).config().string());
    const auto start = std::chrono::steady_clock::now();
    if (!is_finished) graph.begin(name);
    const int status = execute_stage(config, name);
    if (status != 0) return status;
    if (!is_finished) graph.finish(name, seconds_since(start));
  }
  return 0;
}

}  // namespace retro
