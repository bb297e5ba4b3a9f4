#include "retro/model/weights.h"

#include <cstring>

#include <fmt/ranges.h>
#include <torch/types.h>

#include "retro/core/config_yaml.h"
#include "retro/core/error.h"
#include "retro/core/safetensors.h"

namespace retro {
namespace {

constexpr const char* kBase = "base";

/// The weights that a file of this model holds.
std::map<std::string, at::Tensor> named_weights(const RetroModel& model) {
  std::map<std::string, at::Tensor> weights;
  for (const auto& item : model->named_parameters()) {
    if (model->base_hash().empty() || !is_base_weight(item.key()))
      weights.emplace(item.key(), item.value());
  }
  return weights;
}

std::string metadata_of(const SafetensorsReader& reader, const std::string& key) {
  const auto found = reader.metadata().find(key);
  return found == reader.metadata().end() ? std::string{} : found->second;
}

void check_base(const RetroModel& model, const SafetensorsReader& reader) {
  const std::string base = metadata_of(reader, kBase);
  RETRO_CHECK(base.empty() || !model->base_hash().empty(),
              "{}: holds only what was fitted to a base model ({}); it cannot be read without it",
              reader.path().string(), base);
  RETRO_CHECK(base == model->base_hash(),
              "{}: was fitted to another base model ({}, this one is {}): name that one in "
              "fit.base, or fit again in another directory",
              reader.path().string(), base.empty() ? "none" : base, model->base_hash());
}

std::map<std::string, at::Tensor> base_weights(const RetroModel& model) {
  std::map<std::string, at::Tensor> weights;
  for (const auto& item : model->named_parameters()) {
    if (is_base_weight(item.key())) weights.emplace(item.key(), item.value());
  }
  return weights;
}

void check_names(const std::map<std::string, at::Tensor>& weights,
                 const SafetensorsReader& reader) {
  for (const auto& [name, view] : reader.tensors()) {
    RETRO_CHECK(weights.contains(name), "{}: tensor `{}` does not belong to this model",
                reader.path().string(), name);
  }
}

void check_tensor(const SafetensorsReader& reader, const std::string& name,
                  const at::Tensor& weight) {
  const TensorView& view = reader.tensor(name);
  const std::string file = reader.path().string();
  RETRO_CHECK(view.dtype == "F32", "{}: tensor `{}` has type {}, expected F32", file, name,
              view.dtype);
  RETRO_CHECK(c10::IntArrayRef(view.shape) == weight.sizes(),
              "{}: tensor `{}` has shape [{}], expected [{}]", file, name,
              fmt::join(view.shape, ", "), fmt::join(weight.sizes(), ", "));
}

void copy_tensor(const SafetensorsReader& reader, const std::string& name, at::Tensor& weight) {
  const TensorView& view = reader.tensor(name);
  const at::Tensor loaded = torch::empty(weight.sizes(), torch::kFloat32);
  std::memcpy(loaded.data_ptr(), view.bytes.data(), view.bytes.size());
  weight.copy_(loaded);
}

/// A refused file changes nothing: everything is checked before anything is copied.
void fill_weights(const SafetensorsReader& reader, std::map<std::string, at::Tensor> weights) {
  check_names(weights, reader);
  for (const auto& [name, weight] : weights) check_tensor(reader, name, weight);
  const torch::NoGradGuard no_gradients;
  for (auto& [name, weight] : weights) copy_tensor(reader, name, weight);
}

}  // namespace

void save_weights(const RetroModel& model, const std::filesystem::path& path,
                  std::map<std::string, std::string> metadata) {
  std::vector<at::Tensor> alive;
  std::map<std::string, TensorView> views;
  for (const auto& [name, weight] : named_weights(model)) {
    const at::Tensor& stored =
        alive.emplace_back(weight.detach().to(torch::kCPU, torch::kFloat32).contiguous());
    const auto* bytes = static_cast<const std::byte*>(stored.const_data_ptr());
    views[name] = {"F32", stored.sizes().vec(), {bytes, static_cast<size_t>(stored.nbytes())}};
  }
  if (!model->base_hash().empty()) metadata[kBase] = model->base_hash();
  metadata["config"] = to_yaml(model->config());
  write_safetensors(path, views, metadata);
}

void load_weights(RetroModel& model, const std::filesystem::path& path) {
  const SafetensorsReader reader(path);
  check_base(model, reader);
  fill_weights(reader, named_weights(model));
}

void load_base_weights(RetroModel& model, const std::filesystem::path& path) {
  const SafetensorsReader reader(path);
  const std::string base = metadata_of(reader, kBase);
  RETRO_CHECK(base.empty() && read_model_config(path).cca_layers.empty(),
              "{}: already has an encoder and cross-attention; a base is a plain decoder",
              path.string());
  fill_weights(reader, base_weights(model));
}

ModelConfig read_model_config(const std::filesystem::path& path) {
  const std::string text = metadata_of(SafetensorsReader(path), "config");
  RETRO_CHECK(!text.empty(),
              "{}: no `config` in its metadata; it was not written as a RETRO checkpoint",
              path.string());
  ModelConfig config;
  ConfigSource::from_text(text, path.string()).parse(config);
  return config;
}

RetroModel load_model(const std::filesystem::path& path) {
  RetroModel model(read_model_config(path));
  load_weights(model, path);
  return model;
}

}  // namespace retro
