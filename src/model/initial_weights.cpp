#include "initial_weights.h"

#include <cmath>
#include <string>

#include "retro/core/random.h"

namespace retro {
namespace {

bool writes_to_stream(const std::string& name) {
  return name.ends_with("attention.output.weight") || name.ends_with("feed_forward.down.weight");
}

double weight_std(const std::string& name, const ModelConfig& config) {
  if (!writes_to_stream(name)) return config.init_std;
  const int64_t layers = name.starts_with("encoder.") ? config.encoder.layers : config.layers;
  return config.init_std / std::sqrt(2.0 * static_cast<double>(layers));
}

}  // namespace

void draw_initial_weights(torch::nn::Module& model, const ModelConfig& config, uint64_t seed,
                          const std::function<bool(const std::string&)>& is_drawn) {
  torch::NoGradGuard no_gradients;
  for (const auto& item : model.named_parameters()) {
    at::Tensor weight = item.value();
    if (!is_drawn(item.key()) || item.key().ends_with("bias")) continue;  // biases are zero
    if (weight.dim() == 1) {
      weight.fill_(1.0);
      continue;
    }
    RandomStream random(seed, "weights/" + item.key());
    const double std = weight_std(item.key(), config);
    float* values = weight.data_ptr<float>();
    for (int64_t i = 0; i < weight.numel(); ++i)
      values[i] = static_cast<float>(std * random.normal());
  }
}

}  // namespace retro
