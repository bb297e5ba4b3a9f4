#include "retro/run/whole_run.h"

#include <algorithm>
#include <chrono>

#include "retro/core/bundle.h"
#include "retro/core/config_yaml.h"
#include "retro/core/error.h"
#include "retro/core/file_lock.h"
#include "retro/core/file_system.h"
#include "retro/core/log.h"
#include "retro/core/progress.h"
#include "retro/core/seconds_since.h"
#include "retro/ops/device.h"
#include "retro/retrieval/database_writer.h"
#include "retro/run/stage_runner.h"
#include "retro/run/stages.h"
#include "retro/run/time_budget.h"

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

FileLock lock_run(const RunConfig& config) {
  std::filesystem::create_directories(config.directory);
  FileLock lock(std::filesystem::path(config.directory) / "run.lock", config.directory);
  lock.share_with_children();  // after a kill they may still be saving
  return lock;
}

/// The one process that makes something in a run directory: its lock, what the budget leaves of the
/// run, and its stages. Only `accept` replaces anything; whatever is to be refused is refused
/// before.
class OpenRun {
 public:
  explicit OpenRun(const RunConfig& asked)
      : lock_(lock_run(asked)),
        share_(share_within_budget(asked)),
        config_(cut_to_share(asked, share_)),
        graph_(config_.directory, list_stages(config_)) {
    graph_.recover();
  }

  const RunConfig& config() const { return config_; }
  const StageGraph& graph() const { return graph_; }

  /// The builder asks again, under the writer's lock.
  void refuse_another_database() const {
    if (graph_.state("database") == StageState::kStale)
      refuse_to_undo_changes(RunPaths(config_).database());
  }

  void accept() const {
    write_file(RunPaths(config_).config(), to_yaml(config_));
    remember_share(config_, share_);
    graph_.restore();
  }

 private:
  FileLock lock_;
  RunShare share_;
  RunConfig config_;
  StageGraph graph_;
};

std::string why_there_is_no(const std::string& stage, const RunConfig& config) {
  if (stage == "knn") return "knn.enabled is false";
  if (stage == "qa") return "qa.questions names no file";
  return config.fit.is_enabled() ? "fit.base is set, so it is fitted (retro fit)"
                                 : "fit.base is empty, so it is trained (retro train)";
}

void require_any_stage(const RunConfig& config, const std::vector<std::string>& names) {
  const std::vector<Stage> stages = list_stages(config);
  const bool has_any = std::ranges::any_of(stages, [&](const Stage& stage) {
    return std::ranges::find(names, stage.name) != names.end();
  });
  RETRO_CHECK(has_any, "this run has no stage `{}`: {}", names.back(),
              why_there_is_no(names.back(), config));
}

/// Of the run's stages, those that are asked for: without the baseline's, in a run without one.
std::vector<std::string> present(const StageGraph& graph, std::vector<std::string> names) {
  std::erase_if(names, [&](const std::string& name) { return !graph.contains(name); });
  return names;
}

/// Damage, and what a command has changed since, only a builder notices.
bool is_skipped(const StageGraph& graph, const std::string& name) {
  return graph.state(name) == StageState::kFinished && !graph.stage(name).replaces_itself;
}

/// Inputs that are neither there nor made by a stage named before.
void refuse_missing_inputs(const OpenRun& run, const std::vector<std::string>& names) {
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (is_skipped(run.graph(), *name)) continue;
    for (const std::string& missing : run.graph().missing_inputs(*name)) {
      const bool is_text = missing == "tokenizer" || missing == "corpus";
      RETRO_CHECK(std::find(names.begin(), name, missing) != name,
                  "stage `{}` needs `{}`, which is not there or was made from something else: "
                  "`retro {}` with this configuration makes it",
                  *name, missing, is_text ? "corpus" : "run");
    }
  }
}

int execute_one(const OpenRun& run, const std::string& name) {
  const StageGraph& graph = run.graph();
  const auto start = std::chrono::steady_clock::now();
  if (graph.state(name) == StageState::kFinished) return execute_stage(run.config(), name);
  graph.begin(name);
  int status = 0;
  try {
    status = execute_stage(run.config(), name);
  } catch (...) {
    graph.fail(name);
    throw;
  }
  if (status == 0)
    graph.finish(name, seconds_since(start));
  else
    graph.fail(name);
  return status;
}

}  // namespace

int execute_run(const RunConfig& asked) {
  const auto start = std::chrono::steady_clock::now();
  (void)resolve_device(asked.device);  // said before anything is begun
  require_text(asked);
  RETRO_CHECK(has_training_text(asked),
              "every source that is there is `kind: database`, so there is nothing to train: "
              "`retro corpus`, then `retro database build`, make the database");
  const OpenRun run(asked);
  run.refuse_another_database();
  run.accept();
  const RunConfig& config = run.config();
  RunnerOptions options;
  options.num_threads = run_threads(config);
  options.arguments = [&config](const Stage& stage) {
    return std::vector<std::string>{"stage", stage.name, RunPaths(config).config().string(),
                                    fmt::format("threads={}", stage.num_threads)};
  };
  const int status = run_stages(run.graph(), options);
  if (status == 0) {
    log_info("the run is complete after {}: open {}", format_duration(seconds_since(start)),
             RunPaths(config).report().string());
  }
  return status;
}

int execute_stages(const RunConfig& asked, const std::vector<std::string>& all_names) {
  (void)resolve_device(asked.device);
  require_text(asked);
  require_any_stage(asked, all_names);
  const OpenRun run(asked);
  const std::vector<std::string> names = present(run.graph(), all_names);
  refuse_missing_inputs(run, names);
  if (std::ranges::find(names, "database") != names.end()) run.refuse_another_database();
  run.accept();
  for (const std::string& name : names) {
    if (is_skipped(run.graph(), name)) {
      log_info("[{}] up to date", run.graph().stage(name).title);
      continue;
    }
    const int status = execute_one(run, name);
    if (status != 0) return status;
  }
  return 0;
}

}  // namespace retro
