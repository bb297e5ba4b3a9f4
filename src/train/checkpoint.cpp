#include "retro/train/checkpoint.h"

#include <algorithm>
#include <set>

#include "retro/core/config_yaml.h"
#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/file_tree.h"
#include "retro/model/weights.h"

namespace retro {

namespace {

constexpr const char* kWeights = "model.safetensors";
constexpr const char* kOptimizer = "optimizer.safetensors";
constexpr const char* kState = "trainer.json";
constexpr const char* kConfig = "config.yaml";
constexpr std::string_view kPrefix = "step_";
const std::string kDoomedPrefix = "removing_";
constexpr std::string_view kTemporaryMark = ".tmp-";  // of write_directory

/// True for "step_" and digits only: temporary and foreign names are not checkpoints.
bool is_checkpoint_name(std::string_view name) {
  if (!name.starts_with(kPrefix) || name.size() == kPrefix.size()) return false;
  name.remove_prefix(kPrefix.size());
  return name.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Weights and two moments, and room for the headers.
uint64_t checkpoint_bytes(const RetroModel& model) {
  constexpr uint64_t kFloatBytes = 4;
  constexpr uint64_t kHeaders = 1 << 20;
  return 3 * kFloatBytes * static_cast<uint64_t>(model->num_trained_parameters()) + kHeaders;
}

}  // namespace

void CheckpointConfig::visit_fields(FieldVisitor& visit) {
  visit("model", model, "shape of the model");
  visit("train", train, "how it was trained");
}

std::string checkpoint_name(int64_t step) { return fmt::format("{}{:06d}", kPrefix, step); }

std::filesystem::path save_checkpoint(const std::filesystem::path& directory,
                                      const RetroModel& model, const AdamW& optimizer,
                                      const TrainState& state, const CheckpointConfig& config) {
  std::filesystem::create_directories(directory);
  require_free_disk(directory, checkpoint_bytes(model), "a checkpoint");
  const auto path = directory / checkpoint_name(state.step);
  write_directory(path, [&](const std::filesystem::path& temporary) {
    save_weights(model, temporary / kWeights);
    optimizer.save(temporary / kOptimizer);
    write_file(temporary / kConfig, to_yaml(config));
    write_file(temporary / kState, train_state_json(state));
  });
  return path;
}

TrainState load_checkpoint(const std::filesystem::path& path, RetroModel& model, AdamW& optimizer) {
  const TrainState state = read_train_state(path / kState);
  load_weights(model, path / kWeights);
  optimizer.load(path / kOptimizer);
  return state;
}

CheckpointConfig read_checkpoint_config(const std::filesystem::path& path) {
  CheckpointConfig config;
  ConfigSource::from_file(path / kConfig).parse(config);
  return config;
}

std::vector<CheckpointInfo> list_checkpoints(const std::filesystem::path& directory) {
  std::vector<CheckpointInfo> found;
  if (!std::filesystem::is_directory(directory)) return found;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (!entry.is_directory() || !is_checkpoint_name(entry.path().filename().string())) continue;
    found.push_back({entry.path(), read_train_state(entry.path() / kState)});
  }
  std::sort(found.begin(), found.end(), [](const CheckpointInfo& a, const CheckpointInfo& b) {
    return a.state.step < b.state.step;
  });
  return found;
}

std::optional<CheckpointInfo> newest_checkpoint(const std::filesystem::path& directory) {
  const auto all = list_checkpoints(directory);
  if (all.empty()) return std::nullopt;
  return all.back();
}

namespace {

/// The newer one of two that are equally good.
std::optional<CheckpointInfo> best_of(const std::vector<CheckpointInfo>& all) {
  std::optional<CheckpointInfo> best;
  for (const CheckpointInfo& info : all) {
    if (!info.state.validation) continue;
    if (!best || *info.state.validation <= *best->state.validation) best = info;
  }
  if (!best && !all.empty()) best = all.back();
  return best;
}

/// Out of the list first: a kill must not leave half a checkpoint under a checkpoint's name.
void remove_checkpoint(const std::filesystem::path& path) {
  const auto doomed = path.parent_path() / (kDoomedPrefix + path.filename().string());
  std::filesystem::rename(path, doomed);
  std::filesystem::remove_all(doomed);
}

/// What a kill left: checkpoints that were being removed, and half-written ones, whose step need
/// not be reached again (a resumed run may save at others).
void remove_leftovers(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> doomed;
  std::set<std::string> unfinished;
  if (!std::filesystem::is_directory(directory)) return;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kDoomedPrefix)) doomed.push_back(entry.path());
    const std::string target = name.substr(0, name.find(kTemporaryMark));
    if (target != name && is_checkpoint_name(target)) unfinished.insert(target);
  }
  for (const auto& path : doomed) std::filesystem::remove_all(path);
  for (const std::string& target : unfinished) remove_leftovers_of(directory / target);
}

}  // namespace

std::optional<CheckpointInfo> best_checkpoint(const std::filesystem::path& directory) {
  return best_of(list_checkpoints(directory));
}

void prune_checkpoints(const std::filesystem::path& directory, int64_t keep_last) {
  remove_leftovers(directory);
  const auto all = list_checkpoints(directory);
  const auto best = best_of(all);
  const auto num_old = static_cast<int64_t>(all.size()) - keep_last;
  for (int64_t i = 0; i < num_old; ++i) {
    const CheckpointInfo& info = all[static_cast<size_t>(i)];
    if (info.path != best->path) remove_checkpoint(info.path);
  }
}

}  // namespace retro
