#include "retro/run/time_budget.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "retro/core/error.h"
#include "retro/core/file_tree.h"
#include "retro/core/flat_fields.h"
#include "retro/core/hash.h"
#include "retro/core/json.h"
#include "retro/core/log.h"

#include "text_size.h"

namespace retro {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kWhole = 100;

fs::path budget_path(const RunConfig& config) {
  return RunPaths(config).directory() / "budget.json";
}

int64_t size_on_disk(const fs::path& path) {
  RETRO_CHECK(fs::exists(path), "{} does not exist; correct the path in corpus.sources",
              path.string());
  return static_cast<int64_t>(fs::is_directory(path) ? tree_size_bytes(path) : fs::file_size(path));
}

/// The name alone: a folder may move.
std::string name_of(const std::string& path) { return fs::path(path).filename().string(); }

void add_sources(const RunConfig& config, Hasher& hasher) {
  for (SourceConfig source : config.corpus.sources) {
    hasher.add(size_on_disk(source.path));
    source.path.clear();
    hasher.add(changes_text(source));
  }
}

void add_training(const RunConfig& config, Hasher& hasher) {
  const TrainConfig& train = config.train;
  hasher.add(config.tokenizer.vocabulary).add(changes_text(config.model));
  hasher.add(name_of(config.fit.base)).add(config.fit.freeze);
  hasher.add(train.steps).add(train.epochs).add(train.accumulation);
  hasher.add(train.batch_size).add(train.sequence_length);
  for (const int64_t k : train.neighbours) hasher.add(k);
  hasher.add(config.baseline.enabled);
}

/// Of what the estimate reads and the trainings are made from.
std::string measured_key(const RunConfig& config) {
  Hasher hasher;
  hasher.add(fmt::format("{} minutes", config.time_budget_minutes));
  add_sources(config, hasher);
  hasher.add(name_of(config.embed.model)).add(config.database.chunk_length);
  add_training(config, hasher);
  return hasher.hex();
}

std::optional<RunShare> remembered_share(const RunConfig& config, const std::string& key) {
  const fs::path path = budget_path(config);
  if (!fs::exists(path)) return std::nullopt;
  const nlohmann::json record = read_json_file(path);
  const std::string where = path.string();
  RunShare share;
  share.key = json_get_or<std::string>(record, "key", "", where);
  share.percent = json_get_or<int64_t>(record, "percent", 0, where);
  share.budget_minutes = json_get_or<double>(record, "budget_minutes", 0, where);
  share.estimated_minutes = json_get_or<double>(record, "estimated_minutes", 0, where);
  if (share.key != key || share.percent < 1 || share.percent > kWhole) return std::nullopt;
  return share;
}

int64_t part_of(int64_t whole, int64_t percent) {
  return std::max<int64_t>(1, (whole * percent + kWhole / 2) / kWhole);
}

/// A run of epochs is cut by its text alone.
void cut_training(TrainConfig& train, int64_t percent) {
  if (train.steps == 0) return;
  train.steps = part_of(train.steps, percent);
  train.warmup_steps = std::min(train.warmup_steps, train.steps / 2);
}

void cut_text(RunConfig& config, int64_t percent) {
  const std::vector<int64_t> documents = measure_text(config).documents;
  for (size_t i = 0; i < documents.size(); ++i) {
    SourceConfig& source = config.corpus.sources[i];
    const int64_t all =
        source.max_documents > 0 ? std::min(source.max_documents, documents[i]) : documents[i];
    source.max_documents = part_of(all, percent);
  }
}

}  // namespace

RunShare share_within_budget(const RunConfig& config, const RunEstimator& estimate) {
  if (config.time_budget_minutes <= 0) return {};
  const std::string key = measured_key(config);
  if (const auto remembered = remembered_share(config, key)) return *remembered;
  RunShare share;
  share.key = key;
  share.budget_minutes = config.time_budget_minutes;
  share.estimated_minutes = estimate(config).total() / 60;
  const double percent = std::floor(100 * share.budget_minutes / share.estimated_minutes);
  share.percent = static_cast<int64_t>(std::clamp(percent, 1.0, 100.0));
  return share;
}

RunConfig cut_to_share(const RunConfig& config, const RunShare& share) {
  RunConfig cut = config;
  cut.time_budget_minutes = 0;
  if (share.percent == kWhole) return cut;
  log_warning(
      "this machine is too slow for the whole run in {:g} minutes: it takes {} % of the text and "
      "of the training steps (time_budget_minutes=0 takes all)",
      share.budget_minutes, share.percent);
  cut_training(cut.train, share.percent);
  cut_text(cut, share.percent);
  return cut;
}

void remember_share(const RunConfig& config, const RunShare& share) {
  if (share.budget_minutes <= 0) return;
  write_json_file(budget_path(config), {{"key", share.key},
                                        {"percent", share.percent},
                                        {"budget_minutes", share.budget_minutes},
                                        {"estimated_minutes", share.estimated_minutes}});
}

}  // namespace retro
