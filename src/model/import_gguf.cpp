#include <fmt/format.h>

#include "retro/core/json.h"
#include "retro/core/tensor_source.h"
#include "retro/model/gguf_import.h"

#include "families.h"

namespace retro {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

RotaryConfig read_rotary(const json& metadata, int64_t head_width, const std::string& where) {
  RotaryConfig rotary;
  rotary.base = json_get_or(metadata, "llama.rope.freq_base", rotary.base, where);
  const auto turned = json_get_or(metadata, "llama.rope.dimension_count", head_width, where);
  RETRO_CHECK(turned == head_width,
              "{}: `llama.rope.dimension_count` is {}, heads have {} features: rotary positions "
              "of a part of a head are not supported",
              where, turned, head_width);
  const auto type = json_get_or<std::string>(metadata, "llama.rope.scaling.type", "none", where);
  if (type == "none") return rotary;
  RETRO_CHECK(type == "linear" || type == "yarn",
              "{}: `llama.rope.scaling.type` is `{}`, which is not supported (none, linear, yarn)",
              where, type);
  rotary.scaling = type;
  rotary.factor = json_get<double>(metadata, "llama.rope.scaling.factor", where);
  if (type == "yarn") {
    rotary.original_length =
        json_get<int64_t>(metadata, "llama.rope.scaling.original_context_length", where);
  }
  return rotary;
}

ModelConfig gguf_config(const TensorSource& source, const std::string& where) {
  const json& metadata = source.gguf()->metadata();
  ModelConfig model;
  model.vocabulary = source.tensor("token_embd.weight").shape.front();
  model.width = json_get<int64_t>(metadata, "llama.embedding_length", where);
  model.layers = json_get<int64_t>(metadata, "llama.block_count", where);
  model.heads = json_get<int64_t>(metadata, "llama.attention.head_count", where);
  RETRO_CHECK(model.heads > 0, "{}: `llama.attention.head_count` is {}", where, model.heads);
  model.head_width =
      json_get_or(metadata, "llama.attention.key_length", model.width / model.heads, where);
  model.feed_forward = json_get<int64_t>(metadata, "llama.feed_forward_length", where);
  model.cca_layers.clear();
  model.tie_output = !source.contains("output.weight");
  model.block.norm_epsilon =
      json_get<double>(metadata, "llama.attention.layer_norm_rms_epsilon", where);
  model.block.positions = "rotary";
  model.block.key_value_heads =
      json_get_or(metadata, "llama.attention.head_count_kv", model.heads, where);
  model.block.feed_forward = "swiglu";
  model.block.rotary = read_rotary(metadata, model.head_width, where);
  return model.resolved();
}

std::vector<WeightRule> gguf_rules(const ModelConfig& config) {
  std::vector<WeightRule> rules = {{"token_embd.weight", {"decoder.embed.weight"}},
                                   {"output_norm.weight", {"decoder.norm.weight"}}};
  if (!config.tie_output) rules.push_back({"output.weight", {"decoder.output.weight"}});
  for (int64_t i = 0; i < config.layers; ++i) {
    const std::string theirs = fmt::format("blk.{}.", i), ours = decoder_layer(i);
    const auto add = [&](const char* name, const char* own, int64_t interleaved_heads = 0) {
      rules.push_back(
          {theirs + name + ".weight", {ours + own + ".weight"}, false, interleaved_heads});
    };
    add("attn_norm", "self_attention.norm");
    add("attn_q", "self_attention.query", config.heads);
    add("attn_k", "self_attention.key", config.block.key_value_heads);
    add("attn_v", "self_attention.value");
    add("attn_output", "self_attention.output");
    add("ffn_norm", "feed_forward.norm");
    add("ffn_gate", "feed_forward.gate");
    add("ffn_up", "feed_forward.up");
    add("ffn_down", "feed_forward.down");
  }
  return rules;
}

}  // namespace

RetroModel import_gguf(const fs::path& file) {
  const std::string where = file.string();
  TensorSource source(file);
  RETRO_CHECK(source.gguf() != nullptr, "{}: is no GGUF file", where);
  const auto architecture =
      json_get<std::string>(source.gguf()->metadata(), "general.architecture", where);
  RETRO_CHECK(architecture == "llama", "{}: architecture `{}` is not supported (llama)", where,
              architecture);
  const ModelConfig config = gguf_config(source, where);
  RetroModel model(config);
  copy_foreign_weights(model, foreign_tensors(std::move(source)), gguf_rules(config),
                       [](const std::string&) { return false; });
  return model;
}

}  // namespace retro
