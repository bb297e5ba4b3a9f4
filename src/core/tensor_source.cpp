#include "retro/core/tensor_source.h"

#include <set>

#include "retro/core/config_yaml.h"
#include "retro/core/hash.h"
#include "retro/core/json.h"
#include "retro/core/quantized_blocks.h"
#include "retro/core/safetensors.h"

namespace retro {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSingleFile = "model.safetensors";
constexpr const char* kIndexFile = "model.safetensors.index.json";

/// The file to open for what the user named.
fs::path weights_in(const fs::path& path) {
  RETRO_CHECK(fs::exists(path), "{}: no such file or folder", path.string());
  if (!fs::is_directory(path)) return path;
  for (const char* name : {kSingleFile, kIndexFile}) {
    if (fs::exists(path / name)) return path / name;
  }
  if (const auto gguf = find_gguf(path)) return *gguf;
  throw Error(fmt::format("{}: holds neither {} nor {} nor one GGUF file", path.string(),
                          kSingleFile, kIndexFile));
}

/// Tensor name to shard, as the index lists them.
std::map<std::string, std::string> read_weight_map(const fs::path& path) {
  const nlohmann::json index = read_json_file(path);
  const nlohmann::json& listed = json_at(index, "weight_map", path.string());
  RETRO_CHECK(listed.is_object() && !listed.empty(), "{}: `weight_map` lists no tensor",
              path.string());
  std::map<std::string, std::string> weight_map;
  for (const auto& [name, file] : listed.items()) {
    const std::string shard = file.is_string() ? file.get<std::string>() : "";
    RETRO_CHECK(!shard.empty() && fs::path(shard).filename().string() == shard,
                "{}: tensor `{}` is in no file of this folder", path.string(), name);
    weight_map[name] = shard;
  }
  return weight_map;
}

}  // namespace

TensorSource::TensorSource(const fs::path& path) : path_(path) {
  const fs::path file = weights_in(path);
  if (file.extension() == ".json") {
    open_index(file);
  } else if (is_gguf_file(file)) {
    gguf_ = std::make_unique<GgufReader>(file);
    tensors_ = gguf_->tensors();
  } else {
    open_safetensors(file);
  }
}

TensorSource::~TensorSource() = default;
TensorSource::TensorSource(TensorSource&&) noexcept = default;
TensorSource& TensorSource::operator=(TensorSource&&) noexcept = default;

void TensorSource::open_safetensors(const fs::path& path) {
  const SafetensorsReader& reader = shards_.emplace_back(path);
  for (const auto& [name, view] : reader.tensors()) {
    RETRO_CHECK(tensors_.emplace(name, view).second, "{}: tensor `{}` is in another shard too",
                path.string(), name);
  }
}

void TensorSource::open_index(const fs::path& path) {
  std::set<std::string> opened;
  const auto weight_map = read_weight_map(path);
  for (const auto& [name, file] : weight_map) {
    const fs::path shard = path.parent_path() / file;
    if (!opened.insert(file).second) continue;
    RETRO_CHECK(fs::exists(shard), "{}: the shard {} is missing (it holds `{}`)", path.string(),
                file, name);
    open_safetensors(shard);
  }
  for (const auto& [name, file] : weight_map)
    RETRO_CHECK(contains(name), "{}: no shard holds tensor `{}`, {} should", path.string(), name,
                file);
}

const TensorView& TensorSource::tensor(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found != tensors_.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, view] : tensors_) names.push_back(known);
  const std::string nearest = nearest_name(name, names);
  throw Error(fmt::format("{}: no tensor `{}`{}", path_.string(), name,
                          nearest.empty() ? "" : fmt::format("; the nearest is `{}`", nearest)));
}

void TensorSource::read(const std::string& name, std::span<float> values, int num_threads) const {
  const TensorView& view = tensor(name);
  try {
    read_float32(view, values, num_threads);
  } catch (const Error& error) {
    throw Error(fmt::format("{}: tensor `{}`: {}", path_.string(), name, error.what()));
  }
}

std::vector<fs::path> TensorSource::files() const {
  if (gguf_) return {gguf_->path()};
  std::vector<fs::path> files;
  for (const SafetensorsReader& shard : shards_) files.push_back(shard.path());
  return files;
}

std::string TensorSource::content_hash() const {
  Hasher hasher;
  for (const auto& [name, view] : tensors_) {
    hasher.add(name).add(view.dtype).add(static_cast<int64_t>(view.shape.size()));
    for (const int64_t size : view.shape) hasher.add(size);
    hasher.add_bytes(view.bytes);
  }
  return hasher.hex();
}

}  // namespace retro
