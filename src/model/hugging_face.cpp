#include "retro/model/hugging_face.h"

#include "retro/core/json.h"
#include "retro/core/safetensors.h"
#include "retro/core/tensor_source.h"

#include "families.h"

namespace retro {

std::string decoder_layer(int64_t layer) { return fmt::format("decoder.layers.{}.", layer); }

void add_linear(std::vector<WeightRule>& rules, const std::string& theirs, const std::string& ours,
                bool has_bias) {
  rules.push_back({theirs + ".weight", {ours + ".weight"}});
  if (has_bias) rules.push_back({theirs + ".bias", {ours + ".bias"}});
}

namespace {

namespace fs = std::filesystem;

constexpr const char* kWeights = "model.safetensors";

/// Buffers that older versions wrote beside the weights.
bool is_buffer(const std::string& name) {
  return name.ends_with(".rotary_emb.inv_freq") || name.ends_with(".attn.bias") ||
         name.ends_with(".attn.masked_bias");
}

}  // namespace

RetroModel import_hugging_face(const fs::path& directory) {
  const fs::path path = directory / "config.json";
  RETRO_CHECK(fs::exists(path), "{}: no config.json; it is no Hugging Face directory",
              directory.string());
  const auto json = read_json_file(path);
  const auto type = json_get<std::string>(json, "model_type", path.string());
  const ForeignTensors source = foreign_tensors(TensorSource(directory));
  ModelConfig config;
  std::vector<WeightRule> rules;
  if (type == "llama" || type == "mistral") {
    config = llama_config(json, path.string());
    rules = llama_rules(config);
  } else if (type == "gpt2") {
    config = gpt2_config(json, path.string());
    rules = gpt2_rules(config, source.shapes.contains("wte.weight") ? "" : "transformer.");
  } else {
    throw Error(fmt::format("{}: architecture `{}` is not supported (llama, mistral, gpt2)",
                            path.string(), type));
  }
  RetroModel model(config);
  const auto is_ignorable = [&](const std::string& name) {
    return is_buffer(name) || (config.tie_output && name == "lm_head.weight");
  };
  copy_foreign_weights(model, source, rules, is_ignorable);
  return model;
}

void export_hugging_face(const RetroModel& model, const fs::path& directory) {
  const ModelConfig& config = model->config();
  const BlockConfig& block = config.block;
  const bool is_llama =
      block.positions == "rotary" && block.norm == "rms" && block.feed_forward == "swiglu";
  const bool is_gpt2 = block.positions == "learned" && block.norm == "layer" &&
                       block.feed_forward == "gelu" && block.bias &&
                       config.heads * config.head_width == config.width;
  RETRO_CHECK(is_llama || is_gpt2,
              "export: a decoder with {} positions, {} norm and {} feed-forward has no "
              "architecture there; Llama's and GPT-2's can be exported",
              block.positions, block.norm, block.feed_forward);
  std::vector<at::Tensor> alive;
  std::map<std::string, TensorView> views;
  for (const WeightRule& rule :
       is_llama ? llama_rules(config) : gpt2_rules(config, "transformer.")) {
    const at::Tensor& tensor = alive.emplace_back(foreign_weight(model, rule));
    const auto* bytes = static_cast<const std::byte*>(tensor.const_data_ptr());
    views[rule.theirs] = {
        "F32", tensor.sizes().vec(), {bytes, static_cast<size_t>(tensor.nbytes())}};
  }
  write_safetensors(directory / kWeights, views, {{"format", "pt"}});
  write_json_file(directory / "config.json", is_llama ? llama_json(config) : gpt2_json(config));
}

}  // namespace retro
