#include <fmt/format.h>

#include "retro/core/json.h"
#include "retro/core/tensor_source.h"
#include "retro/model/gguf_import.h"

#include "families.h"
#include "foreign_config.h"

namespace retro {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kKnownGgufKeys[] = {
    // the model
    "llama.vocab_size", "llama.context_length", "llama.embedding_length", "llama.block_count",
    "llama.feed_forward_length", "llama.attention.head_count", "llama.attention.head_count_kv",
    "llama.attention.key_length", "llama.attention.value_length",
    "llama.attention.layer_norm_rms_epsilon", "llama.rope.freq_base", "llama.rope.dimension_count",
    "llama.rope.scaling.type", "llama.rope.scaling.factor", "llama.rope.scale_linear",
    "llama.rope.scaling.original_context_length", "llama.rope.scaling.finetuned",
    "llama.tensor_data_layout",
    // must have their usual value
    "llama.expert_count", "llama.expert_used_count", "llama.attention.causal",
    "llama.attention.sliding_window", "llama.attention.scale", "llama.attention.clamp_kqv",
    "llama.logit_scale", "llama.use_parallel_residual", "llama.rope.scaling.attn_factor"};

void check_gguf_keys(const json& metadata, const std::string& where) {
  for (const char* key : {"expert_count", "expert_used_count", "attention.sliding_window",
                          "attention.scale", "attention.clamp_kqv", "logit_scale"})
    require_usual(metadata, fmt::format("llama.{}", key), 0, where);
  require_usual(metadata, "llama.attention.causal", true, where);
  require_usual(metadata, "llama.use_parallel_residual", false, where);
  require_usual(metadata, "llama.rope.scaling.attn_factor", 1.0, where);
  const auto rotary = unknown_keys(metadata, "llama.rope.", kKnownGgufKeys);
  RETRO_CHECK(rotary.empty(), "{}: `{}` is not supported", where,
              rotary.empty() ? "" : rotary.front());
  warn_of_unknown_keys(unknown_keys(metadata, "llama.", kKnownGgufKeys), where);
}

/// As llama.cpp reads it: a factor without a type is linear, and has an older name; no factor, or
/// 0, is a linear one of 1.
RotaryConfig read_scaling(const json& metadata, RotaryConfig rotary, const std::string& where) {
  const auto older = json_get_or(metadata, "llama.rope.scale_linear", 0.0, where);
  const auto factor = json_get_or(metadata, "llama.rope.scaling.factor", older, where);
  const bool is_scaled = factor != 0.0 && factor != 1.0;
  const auto type = json_get_or<std::string>(metadata, "llama.rope.scaling.type",
                                             is_scaled ? "linear" : "none", where);
  if (type == "none" || (type == "linear" && !is_scaled)) return rotary;
  RETRO_CHECK(type == "linear" || type == "yarn",
              "{}: `llama.rope.scaling.type` is `{}`, which is not supported (none, linear, yarn)",
              where, type);
  RETRO_CHECK(factor >= 1.0, "{}: `llama.rope.scaling.factor` is {}; it must be at least 1", where,
              factor);
  rotary.scaling = type;
  rotary.factor = factor;
  if (type == "yarn") {
    rotary.original_length =
        json_get<int64_t>(metadata, "llama.rope.scaling.original_context_length", where);
  }
  return rotary;
}

RotaryConfig read_gguf_rotary(const json& metadata, int64_t head_width, const std::string& where) {
  RotaryConfig rotary;
  rotary.base = json_get_or(metadata, "llama.rope.freq_base", rotary.base, where);
  const auto turned = json_get_or(metadata, "llama.rope.dimension_count", head_width, where);
  RETRO_CHECK(turned == head_width,
              "{}: `llama.rope.dimension_count` is {}, heads have {} features: rotary positions "
              "of a part of a head are not supported",
              where, turned, head_width);
  return read_scaling(metadata, rotary, where);
}

/// Rows of the embedding; GGUF need not say the number of pieces otherwise.
int64_t vocabulary_of(const TensorSource& source, const std::string& where) {
  const auto& shape = source.tensor("token_embd.weight").shape;
  RETRO_CHECK(shape.size() == 2, "{}: tensor `token_embd.weight` has {} dimensions, expected 2",
              where, shape.size());
  return shape.front();
}

ModelConfig gguf_config(const TensorSource& source, const std::string& where) {
  const json& metadata = source.gguf()->metadata();
  check_gguf_keys(metadata, where);
  ModelConfig model;
  model.vocabulary = vocabulary_of(source, where);
  model.width = read_size(metadata, "llama.embedding_length", where);
  model.layers = read_size(metadata, "llama.block_count", where);
  model.heads = read_size(metadata, "llama.attention.head_count", where);
  model.head_width =
      read_size_or(metadata, "llama.attention.key_length", model.width / model.heads, where);
  model.feed_forward = read_size(metadata, "llama.feed_forward_length", where);
  model.cca_layers.clear();
  model.tie_output = !source.contains("output.weight");
  model.block.norm_epsilon =
      json_get<double>(metadata, "llama.attention.layer_norm_rms_epsilon", where);
  model.block.positions = "rotary";
  model.block.key_value_heads =
      read_size_or(metadata, "llama.attention.head_count_kv", model.heads, where);
  model.block.feed_forward = "swiglu";
  model.block.rotary = read_gguf_rotary(metadata, model.head_width, where);
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
  const ForeignTensors tensors = foreign_tensors(std::move(source));
  check_size(config, tensors);
  RetroModel model(config);
  copy_foreign_weights(model, tensors, gguf_rules(config),
                       [](const std::string&) { return false; });
  return model;
}

}  // namespace retro
