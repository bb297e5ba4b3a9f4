#include "run_files.h"

#include <algorithm>
#include <sstream>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/json.h"

namespace retro {
namespace {

namespace fs = std::filesystem;

Json read_if_there(const fs::path& path) {
  return fs::exists(path) ? read_json_file(path) : Json{};
}

/// A line cut short by a kill is left out.
std::vector<Json> read_lines(const fs::path& path) {
  std::vector<Json> lines;
  if (!fs::exists(path)) return lines;
  std::istringstream text(read_file(path));
  for (std::string line; std::getline(text, line);) {
    Json parsed = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (parsed.is_object()) lines.push_back(std::move(parsed));
  }
  return lines;
}

std::vector<Json> read_tables(const fs::path& folder) {
  std::vector<fs::path> paths;
  if (!fs::is_directory(folder)) return {};
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().ends_with(".table.json")) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Json> tables;
  for (const fs::path& path : paths) tables.push_back(read_json_file(path));
  return tables;
}

/// A run directory's last folder name, also for "runs/ci/" and ".".
std::string directory_name(const fs::path& directory) {
  const fs::path whole = fs::absolute(directory).lexically_normal();
  return whole.has_filename() ? whole.filename().string() : whole.parent_path().filename().string();
}

/// What the effective configuration says; empty where it says nothing.
std::string setting_of(const RunFiles& files, const std::string& key) {
  const auto found = files.settings.find(key);
  return found == files.settings.end() || found->second == "\"\"" ? "" : found->second;
}

/// The results of stages that a run may do without: a file that a stage left before it was switched
/// off, or before the configuration changed, is no result of this run. A folder without a
/// configuration shows what it holds.
void read_optional_results(const ReportedRun& run, RunFiles& files) {
  const auto is_stale = [&run](const char* stage) {
    return std::find(run.stale.begin(), run.stale.end(), stage) != run.stale.end();
  };
  const auto read = [&](const char* stage, const char* name, bool is_asked_for) {
    const fs::path path = run.directory / "eval" / name;
    if (!is_asked_for || !fs::exists(path)) return Json{};
    if (!is_stale(stage)) return read_json_file(path);
    files.notes.push_back(fmt::format(
        "{} was made from another configuration, or is not finished: it is left out", name));
    return Json{};
  };
  const bool has_no_config = files.config.empty();
  files.knn = read("knn", "knn.json", has_no_config || setting_of(files, "knn.enabled") == "true");
  files.questions =
      read("qa", "qa.json", has_no_config || !setting_of(files, "qa.questions").empty());
  if (is_stale("eval") && !files.result.is_null()) {
    files.notes.emplace_back(
        "these figures were made from another configuration than the one below, or by an older "
        "program");
  }
}

}  // namespace

RunFiles read_run_files(const ReportedRun& run) {
  const fs::path& directory = run.directory;
  RETRO_CHECK(fs::is_directory(directory), "{}: no such run directory", directory.string());
  const fs::path eval = directory / "eval", training = directory / "training";
  RunFiles files;
  files.name = directory_name(directory);
  files.result = read_if_there(eval / "result.json");
  files.examples = read_if_there(eval / "examples.json");
  files.breakdown = read_if_there(eval / "breakdown.json");
  files.ablations = read_if_there(directory / "table.json");
  files.tables = read_tables(eval);
  files.sample = read_if_there(directory / "sample.json");
  if (fs::exists(directory / "config.yaml")) files.config = read_file(directory / "config.yaml");
  files.settings = flatten_config(files.config);
  read_optional_results(run, files);
  files.retro_metrics = read_lines(training / "retro" / "metrics.jsonl");
  files.baseline_metrics = read_lines(training / "baseline" / "metrics.jsonl");
  files.corpus = read_if_there(directory / "corpus" / "manifest.json");
  files.database = read_if_there(directory / "database" / "shard_000000" / "shard.json");
  files.index = read_if_there(directory / "index" / "index.json");
  return files;
}

}  // namespace retro
