#include "retro/run/stale_results.h"

#include <array>

#include "retro/core/error.h"
#include "retro/core/log.h"
#include "retro/run/stages.h"

namespace retro {
namespace {

namespace fs = std::filesystem;

struct StageResult {
  std::string_view stage, file;
  /// The figures of an evaluation are there before all its files are.
  bool counts_unfinished;
};

constexpr std::array<StageResult, 3> kResults = {
    {{"eval", "result.json", true}, {"knn", "knn.json", false}, {"qa", "qa.json", false}}};

bool is_result_stale(const StageGraph& graph, const fs::path& run, const StageResult& result) {
  const std::string stage(result.stage);
  if (!graph.contains(stage) || !fs::exists(run / "eval" / result.file)) return false;
  if (!fs::exists(run / "stages" / (stage + ".json"))) return false;
  const StageState state = graph.state(stage);
  return state == StageState::kStale ||
         (state == StageState::kStarted && !result.counts_unfinished);
}

}  // namespace

std::vector<std::string> stale_results(const fs::path& run) {
  std::vector<std::string> stale;
  if (!fs::exists(run / "config.yaml") || !fs::is_directory(run / "stages")) return stale;
  try {
    const RunConfig config = load_run_config(run, {});
    const StageGraph graph(run, list_stages(config));
    for (const StageResult& result : kResults) {
      if (!is_result_stale(graph, run, result)) continue;
      log_warning("{}: made from another configuration; `retro run {}` makes it again",
                  (run / "eval" / result.file).string(), run.string());
      stale.emplace_back(result.stage);
    }
  } catch (const Error& error) {
    log_warning("{}: nothing tells whether its results are those of its configuration: {}",
                run.string(), error.what());
  }
  return stale;
}

}  // namespace retro
