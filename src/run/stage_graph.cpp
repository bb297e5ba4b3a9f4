#include "retro/run/stage_graph.h"

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/hash.h"
#include "retro/core/log.h"

namespace retro {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

Json read_record(const fs::path& path) {
  if (!fs::exists(path)) return Json::object();
  const Json record = Json::parse(read_file(path), nullptr, /*allow_exceptions=*/false);
  return record.is_object() ? record : Json::object();
}

/// Content hash of a file or of every file below a folder; unchanged size and time reuse the
/// remembered hash.
class InputHashes {
 public:
  explicit InputHashes(fs::path memory)
      : memory_(std::move(memory)), known_(read_record(memory_)) {}
  ~InputHashes() = default;

  std::string hash(const fs::path& path) {
    RETRO_CHECK(
        fs::exists(path),
        "input {} does not exist; fetch it with tools/setup.sh or correct the path in the config",
        path.string());
    if (!fs::is_directory(path)) return hash_one(path);
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    Hasher hasher;
    for (const fs::path& file : files)
      hasher.add(fs::relative(file, path).string()).add(hash_one(file));
    return hasher.hex();
  }

  void save() const {
    if (is_changed_) write_file(memory_, known_.dump(1));
  }

 private:
  std::string hash_one(const fs::path& path) {
    const std::string name = fs::absolute(path).lexically_normal().string();
    const auto size = static_cast<int64_t>(fs::file_size(path));
    const auto time = static_cast<int64_t>(fs::last_write_time(path).time_since_epoch().count());
    if (known_.contains(name)) {
      const Json& entry = known_[name];
      if (entry.value("size", int64_t{-1}) == size && entry.value("time", int64_t{-1}) == time) {
        return entry.value("hash", std::string{});
      }
    }
    const std::string content = hash_file(path);
    known_[name] = {{"size", size}, {"time", time}, {"hash", content}};
    is_changed_ = true;
    return content;
  }

  fs::path memory_;
  Json known_;
  bool is_changed_ = false;
};

}  // namespace

StageGraph::StageGraph(fs::path directory, std::vector<Stage> stages)
    : directory_(std::move(directory)), stages_(std::move(stages)) {
  fs::create_directories(directory_ / "stages");
  InputHashes inputs(directory_ / "stages" / "inputs.json");
  for (const Stage& stage : stages_) {
    Hasher hasher;
    hasher.add(stage.name).add(stage.format_version).add(stage.config);
    for (const fs::path& file : stage.input_files) hasher.add(inputs.hash(file));
    for (const std::string& before : stage.after) hasher.add(key(before));
    keys_.push_back(hasher.hex());
  }
  inputs.save();
}

bool StageGraph::contains(const std::string& name) const {
  return std::any_of(stages_.begin(), stages_.end(),
                     [&](const Stage& stage) { return stage.name == name; });
}

size_t StageGraph::index(const std::string& name) const {
  for (size_t i = 0; i < stages_.size(); ++i) {
    if (stages_[i].name == name) return i;
  }
  throw Error(fmt::format("no stage named `{}` in this run", name));
}

const Stage& StageGraph::stage(const std::string& name) const { return stages_[index(name)]; }

const std::string& StageGraph::key(const std::string& name) const {
  const size_t i = index(name);
  RETRO_CHECK(i < keys_.size(), "stage `{}` is read before it is listed", name);
  return keys_[i];
}

fs::path StageGraph::record_path(const std::string& name) const {
  return directory_ / "stages" / (name + ".json");
}

StageState StageGraph::state(const std::string& name) const {
  const Json record = read_record(record_path(name));
  if (record.value("key", std::string{}) != key(name)) return StageState::kStale;
  if (!record.value("finished", false)) return StageState::kStarted;
  const auto& outputs = stage(name).outputs;
  const bool is_complete = std::all_of(outputs.begin(), outputs.end(),
                                       [](const fs::path& path) { return fs::exists(path); });
  return is_complete ? StageState::kFinished : StageState::kStale;
}

std::vector<std::string> StageGraph::missing_inputs(const std::string& name) const {
  std::vector<std::string> missing;
  for (const std::string& before : stage(name).after) {
    for (std::string& deeper : missing_inputs(before)) missing.push_back(std::move(deeper));
    if (state(before) != StageState::kFinished) missing.push_back(before);
  }
  std::vector<std::string> unique;
  for (const std::string& entry : missing) {
    if (std::find(unique.begin(), unique.end(), entry) == unique.end()) unique.push_back(entry);
  }
  return unique;
}

void StageGraph::begin(const std::string& name) const {
  if (state(name) == StageState::kStale && !stage(name).replaces_itself) {
    for (const fs::path& output : stage(name).outputs) fs::remove_all(output);
  }
  write_file(record_path(name), Json{{"key", key(name)}, {"finished", false}}.dump(1));
}

void StageGraph::finish(const std::string& name, double seconds) const {
  write_file(record_path(name),
             Json{{"key", key(name)}, {"finished", true}, {"seconds", seconds}}.dump(1));
}

double StageGraph::seconds(const std::string& name) const {
  return read_record(record_path(name)).value("seconds", 0.0);
}

}  // namespace retro
