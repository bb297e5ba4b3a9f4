#include "retro/model/retrofit.h"

#include <torch/types.h>

#include "retro/core/hash.h"
#include "retro/model/weight.h"
#include "retro/model/weights.h"

#include "initial_weights.h"

namespace retro {
namespace {

constexpr int64_t kFirstLayer = 5;  // the sixth
constexpr int64_t kLayerStep = 3;

void clear_cross_outputs(RetroModel& model) {
  const torch::NoGradGuard no_gradients;
  for (auto& item : model->named_parameters()) {
    const std::string& name = item.key();
    if (name.starts_with("decoder.") && name.ends_with(".cross_attention.output.weight"))
      item.value().zero_();
  }
}

}  // namespace

std::vector<int64_t> default_retrofit_layers(int64_t layers) {
  std::vector<int64_t> chosen;
  for (int64_t layer = kFirstLayer; layer < layers; layer += kLayerStep) chosen.push_back(layer);
  return chosen;
}

ModelConfig retrofit_config(const ModelConfig& base, const ModelConfig& wanted) {
  ModelConfig config = wanted;
  config.vocabulary = base.vocabulary;
  config.width = base.width;
  config.layers = base.layers;
  config.heads = base.heads;
  config.head_width = base.head_width;
  config.feed_forward = base.feed_forward;
  config.block = base.block;
  config.tie_output = base.tie_output;
  config.attend_across_documents = base.attend_across_documents;
  return config.resolved();
}

RetroModel retrofit(const std::filesystem::path& base_weights, const ModelConfig& config,
                    const RetrofitOptions& options) {
  RetroModel model(config);
  load_base_weights(model, base_weights);
  draw_initial_weights(*model, model->config(), options.seed,
                       [](const std::string& name) { return !is_base_weight(name); });
  clear_cross_outputs(model);
  if (options.is_frozen)
    model->freeze_base(options.base_hash.empty() ? hash_file(base_weights) : options.base_hash);
  return model;
}

RetroModel without_base(const RetroModel& fitted) {
  RetroModel whole(fitted->config());
  const torch::NoGradGuard no_gradients;
  auto weights = whole->named_parameters();
  for (const auto& item : fitted->named_parameters()) {
    if (item.value().numel() > 0) weights[item.key()].copy_(item.value());
  }
  for (const auto& item : fitted->named_modules()) {
    const auto* packed = item.value()->as<WeightImpl>();
    if (packed != nullptr && packed->is_packed())
      weights[item.key() + ".weight"].copy_(packed->values());
  }
  return whole;
}

}  // namespace retro
