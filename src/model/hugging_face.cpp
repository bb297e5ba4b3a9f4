#include "retro/model/hugging_face.h"

#include "retro/core/json.h"
#include "retro/core/safetensors.h"
#include "retro/core/tensor_source.h"

#include "families.h"
#include "foreign_config.h"

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
  const auto given = read_json_file(path);
  const auto type = json_get<std::string>(given, "model_type", path.string());
  const ForeignTensors source = foreign_tensors(TensorSource(directory));
  const bool is_gpt2 = type == "gpt2";
  RETRO_CHECK(is_gpt2 || type == "llama" || type == "mistral",
              "{}: architecture `{}` is not supported (llama, mistral, gpt2)", path.string(), type);
  const ModelConfig config =
      is_gpt2 ? gpt2_config(given, path.string()) : llama_config(given, path.string());
  check_size(config, source);
  const std::string prefix = source.shapes.contains("wte.weight") ? "" : "transformer.";
  const auto rules = is_gpt2 ? gpt2_rules(config, prefix) : llama_rules(config);
  RetroModel model(config);
  const auto is_ignorable = [&](const std::string& name) {
    return is_buffer(name) || (config.tie_output && name == "lm_head.weight");
  };
  copy_foreign_weights(model, source, rules, is_ignorable);
  return model;
}

void export_hugging_face(const RetroModel& model, const fs::path& directory,
                         const std::string& carried) {
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
  nlohmann::json written = is_llama ? llama_json(config) : gpt2_json(config);
  repeat_carried_keys(carried, written);
  write_json_file(directory / "config.json", written);
}

}  // namespace retro
