#include "retro/model/weights.h"

#include <cstring>

#include <fmt/ranges.h>
#include <torch/types.h>

#include "retro/core/config_yaml.h"
#include "retro/core/error.h"
#include "retro/core/safetensors.h"

namespace retro {
namespace {

std::map<std::string, at::Tensor> named_weights(const RetroModel& model) {
  std::map<std::string, at::Tensor> weights;
  for (const auto& item : model->named_parameters()) weights.emplace(item.key(), item.value());
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
  metadata["config"] = to_yaml(model->config());
  write_safetensors(path, views, metadata);
}

void load_weights(RetroModel& model, const std::filesystem::path& path) {
  const SafetensorsReader reader(path);
  auto weights = named_weights(model);
  check_names(weights, reader);
  // A refused file changes nothing: everything is checked before anything is copied.
  for (const auto& [name, weight] : weights) check_tensor(reader, name, weight);
  torch::NoGradGuard no_gradients;
  for (auto& [name, weight] : weights) copy_tensor(reader, name, weight);
}

RetroModel load_model(const std::filesystem::path& path) {
  std::string text;
  {
    const SafetensorsReader reader(path);
    const auto found = reader.metadata().find("config");
    RETRO_CHECK(found != reader.metadata().end(),
                "{}: no `config` in its metadata; it was not written as a RETRO checkpoint",
                path.string());
    text = found->second;
  }
  ModelConfig config;
  ConfigSource::from_text(text, path.string()).parse(config);
  RetroModel model(config, 0);
  load_weights(model, path);
  return model;
}

}  // namespace retro
