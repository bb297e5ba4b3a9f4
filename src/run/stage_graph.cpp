#include "retro/run/stage_graph.h"

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/hash.h"
#include "retro/core/log.h"

#include "set_aside.h"

namespace retro {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

Json read_record(const fs::path& path) {
  if (!fs::exists(path)) return Json::object();
  const Json record = Json::parse(read_file(path), nullptr, /*allow_exceptions=*/false);
  return record.is_object() ? record : Json::object();
}

void write_record(const fs::path& path, const Json& record) { write_file(path, record.dump(1)); }

std::string key_of(const Json& record) {
  return record.is_object() ? record.value("key", std::string{}) : std::string{};
}

bool is_finished(const Json& record) { return record.value("finished", false); }

/// True if the record and the outputs it speaks of are there.
bool is_complete(const Json& record, const Stage& stage) {
  return is_finished(record) &&
         std::ranges::all_of(stage.outputs, [](const fs::path& path) { return fs::exists(path); });
}

/// The record of outputs that wait beside those of this one; null if there are none.
Json earlier_of(const Json& record, const Stage& stage) {
  if (is_finished(record) || !record.contains("earlier") || !is_set_aside(stage.outputs)) return {};
  return record["earlier"];
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

/// `record`, with that of the outputs that wait beside its own.
Json with_earlier(Json record, const Json& earlier) {
  if (!earlier.is_null()) record["earlier"] = earlier;
  return record;
}

/// Said first: it may have taken hours to make.
void remove_stale(const Stage& stage) {
  for (const fs::path& output : stage.outputs) {
    if (!fs::exists(output)) continue;
    log_info("[{}] {} was made from something else and is removed", stage.title, output.string());
    fs::remove_all(output);
  }
}

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
  if (key_of(earlier_of(record, stage(name))) == key(name)) return StageState::kFinished;
  if (key_of(record) != key(name)) return StageState::kStale;
  if (!is_finished(record)) return StageState::kStarted;
  return is_complete(record, stage(name)) ? StageState::kFinished : StageState::kStale;
}

std::string StageGraph::why_unfinished(const std::string& name) const {
  for (const fs::path& output : stage(name).outputs) {
    if (!fs::exists(output)) return fmt::format("it made no {}", output.string());
  }
  return fmt::format("{} says so", record_path(name).string());
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

/// Where a kill came between a rename and the record that tells of it.
void StageGraph::settle(const Stage& stage) const {
  Json record = read_record(record_path(stage.name));
  if (!stage.keeps_earlier || !is_finished(record)) return;
  if (!record.value("returns", false)) return settle_finished(stage.outputs);
  put_back(stage.outputs);
  record.erase("returns");
  write_record(record_path(stage.name), record);
}

void StageGraph::recover() const {
  for (const Stage& stage : stages_) settle(stage);
}

void StageGraph::put_earlier_back(const Stage& stage) const {
  Json earlier = earlier_of(read_record(record_path(stage.name)), stage);
  earlier["returns"] = true;  // first: from here on it is what a kill leaves
  write_record(record_path(stage.name), earlier);
  settle(stage);
  log_info("[{}] what it made before is back in its place", stage.title);
}

void StageGraph::restore() const {
  for (const Stage& stage : stages_) {
    const Json earlier = earlier_of(read_record(record_path(stage.name)), stage);
    if (!earlier.is_null() && key_of(earlier) == key(stage.name)) put_earlier_back(stage);
  }
}

void StageGraph::begin(const std::string& name) const {
  const Stage& made = stage(name);
  const Json record = read_record(record_path(name));
  Json earlier = earlier_of(record, made);
  if (state(name) == StageState::kStale && !made.replaces_itself) {
    if (made.keeps_earlier && is_complete(record, made)) {
      set_aside(made.outputs);
      earlier = record;
    } else {
      // No longer finished, if a kill comes while its outputs go.
      write_record(record_path(name), with_earlier({{"finished", false}}, earlier));
      remove_stale(made);
    }
  }
  write_record(record_path(name), with_earlier({{"key", key(name)}, {"finished", false}}, earlier));
}

void StageGraph::finish(const std::string& name, double seconds) const {
  // What was made before must not come back as what this configuration asked for.
  const Stage& made = stage(name);
  const auto exists = [](const fs::path& output) { return fs::exists(output); };
  if (made.keeps_earlier && !std::ranges::all_of(made.outputs, exists)) return fail(name);
  write_record(record_path(name), {{"key", key(name)}, {"finished", true}, {"seconds", seconds}});
  settle(made);
}

void StageGraph::fail(const std::string& name) const {
  const Stage& made = stage(name);
  if (earlier_of(read_record(record_path(name)), made).is_null()) return;
  if (!hold_anything(made.outputs)) return put_earlier_back(made);
  for (const fs::path& output : made.outputs) {
    log_info(
        "[{}] what it made before waits as {} until this is finished, or the configuration "
        "goes back",
        made.title, set_aside_path(output).string());
  }
}

double StageGraph::seconds(const std::string& name) const {
  return read_record(record_path(name)).value("seconds", 0.0);
}

}  // namespace retro
