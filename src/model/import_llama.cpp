// Llama-family checkpoints in the Hugging Face layout.
#include "retro/core/json.h"

#include "families.h"
#include "foreign_config.h"

namespace retro {
namespace {

using nlohmann::json;

constexpr std::string_view kKnownLlamaKeys[] = {
    // the model
    "model_type", "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers",
    "num_attention_heads", "num_key_value_heads", "head_dim", "hidden_act", "rms_norm_eps",
    "rope_theta", "rope_scaling", "rope_parameters", "attention_bias", "mlp_bias",
    "tie_word_embeddings", "max_position_embeddings", "sliding_window", "layer_types",
    // must have their usual value
    "rope_interleaved", "partial_rotary_factor", "quantization_config", "is_encoder_decoder",
    "add_cross_attention", "use_bidirectional_attention",
    // training, bookkeeping, the order of sums
    "architectures", "attention_dropout", "bos_token_id", "eos_token_id", "pad_token_id", "dtype",
    "torch_dtype", "initializer_range", "is_llama_config", "pretraining_tp", "transformers_version",
    "transformers.js_config", "use_cache", "_name_or_path"};

constexpr std::string_view kKnownRotaryKeys[] = {"rope_type",
                                                 "type",
                                                 "rope_theta",
                                                 "factor",
                                                 "original_max_position_embeddings",
                                                 "low_freq_factor",
                                                 "high_freq_factor",
                                                 "beta_fast",
                                                 "beta_slow",
                                                 "attention_factor",
                                                 "mscale",
                                                 "mscale_all_dim",
                                                 "truncate",
                                                 "partial_rotary_factor",
                                                 "finetuned"};

void check_llama_keys(const json& config, const std::string& where) {
  for (const char* key : {"rope_interleaved", "is_encoder_decoder", "add_cross_attention",
                          "use_bidirectional_attention"})
    require_usual(config, key, false, where);
  require_usual(config, "partial_rotary_factor", 1.0, where);
  require_usual(config, "quantization_config", nullptr, where);
  for (const auto& type : json_get_or<std::vector<std::string>>(config, "layer_types", {}, where))
    RETRO_CHECK(type == "full_attention",
                "{}: `layer_types` names `{}`; only full_attention is supported", where, type);
  warn_of_unknown_keys(unknown_keys(config, "", kKnownLlamaKeys), where);
}

/// A window that texts within the model's positions reach beyond changes what they read. Where the
/// key is missing a Mistral has one.
void check_window(const json& config, const std::string& where) {
  constexpr int64_t kMistralWindow = 4096, kMistralPositions = 131'072, kLlamaPositions = 2048;
  const bool is_mistral = json_get_or<std::string>(config, "model_type", "", where) == "mistral";
  const bool is_given = config.contains("sliding_window");
  const auto window = json_get_or<int64_t>(config, "sliding_window",
                                           is_mistral && !is_given ? kMistralWindow : 0, where);
  const auto positions = json_get_or<int64_t>(
      config, "max_position_embeddings", is_mistral ? kMistralPositions : kLlamaPositions, where);
  RETRO_CHECK(window == 0 || window >= positions,
              "{}: `sliding_window` is {}{}, below `max_position_embeddings` ({}), which is not "
              "supported",
              where, window, is_given ? "" : " (a Mistral's where the key is missing)", positions);
}

/// `rope_parameters`, or the older `rope_scaling`; `rope_theta` may stand beside either.
json rope_of(const json& config, const std::string& where) {
  json rope = json::object();
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (config.contains(key) && config[key].is_object()) rope = config[key];
  }
  const auto rejected = unknown_keys(rope, "", kKnownRotaryKeys);
  RETRO_CHECK(rejected.empty(), "{}: `{}` of the rotary positions is not supported", where,
              rejected.empty() ? "" : rejected.front());
  if (!config.contains("rope_theta") || config["rope_theta"].is_null()) return rope;
  const bool has_own = rope.contains("rope_theta") && !rope["rope_theta"].is_null();
  RETRO_CHECK(!has_own || rope["rope_theta"] == config["rope_theta"],
              "{}: `rope_theta` is {} and {} in the rotary positions: which of them?", where,
              json_line(config["rope_theta"]), json_line(rope["rope_theta"]));
  rope["rope_theta"] = config["rope_theta"];
  return rope;
}

void refuse_key(const json& object, const char* key, const std::string& where) {
  RETRO_CHECK(!object.contains(key) || object[key].is_null(),
              "{}: `{}` of the rotary positions is not supported", where, key);
}

void read_yarn(const json& rope, const std::string& where, RotaryConfig& rotary) {
  refuse_key(rope, "mscale", where);
  refuse_key(rope, "mscale_all_dim", where);
  RETRO_CHECK(json_get_or(rope, "truncate", true, where),
              "{}: `truncate: false` of the rotary positions is not supported", where);
  rotary.beta_fast = json_get_or(rope, "beta_fast", rotary.beta_fast, where);
  rotary.beta_slow = json_get_or(rope, "beta_slow", rotary.beta_slow, where);
  rotary.attention_factor = json_get_or(rope, "attention_factor", 0.0, where);
}

RotaryConfig read_rotary(const json& config, const std::string& where) {
  const json rope = rope_of(config, where);
  RotaryConfig rotary;
  rotary.base = json_get_or(rope, "rope_theta", rotary.base, where);
  const std::string old_type = json_get_or<std::string>(rope, "type", "default", where);
  const std::string type = json_get_or(rope, "rope_type", old_type, where);
  RETRO_CHECK(json_get_or(rope, "partial_rotary_factor", 1.0, where) == 1.0,
              "{}: `partial_rotary_factor` other than 1 is not supported", where);
  if (type == "default") return rotary;
  RETRO_CHECK(type == "linear" || type == "llama3" || type == "yarn",
              "{}: rotary positions of type `{}` are not supported (default, linear, llama3, yarn)",
              where, type);
  rotary.scaling = type;
  rotary.factor = json_get<double>(rope, "factor", where);
  if (type == "linear") return rotary;
  const auto longest = json_get_or<int64_t>(config, "max_position_embeddings", 0, where);
  rotary.original_length = json_get_or(rope, "original_max_position_embeddings", longest, where);
  if (type == "yarn") read_yarn(rope, where, rotary);
  if (type == "llama3") {
    rotary.low_frequency_factor = json_get<double>(rope, "low_freq_factor", where);
    rotary.high_frequency_factor = json_get<double>(rope, "high_freq_factor", where);
  }
  return rotary;
}

/// As `rope_scaling` holds it.
json scaling_json(const RotaryConfig& rotary) {
  json rope = {{"rope_type", rotary.scaling == "none" ? "default" : rotary.scaling}};
  if (rotary.scaling == "none") return rope;
  rope["factor"] = rotary.factor;
  if (rotary.original_length > 0) rope["original_max_position_embeddings"] = rotary.original_length;
  if (rotary.scaling == "llama3") {
    rope["low_freq_factor"] = rotary.low_frequency_factor;
    rope["high_freq_factor"] = rotary.high_frequency_factor;
  }
  if (rotary.scaling == "yarn") {
    rope["beta_fast"] = rotary.beta_fast;
    rope["beta_slow"] = rotary.beta_slow;
    if (rotary.attention_factor > 0) rope["attention_factor"] = rotary.attention_factor;
  }
  return rope;
}

/// `transformers` reads `rope_parameters` from version 5 on, and the two others before: without
/// them it would take its defaults and say nothing.
void add_rotary(const RotaryConfig& rotary, json& config) {
  const json scaling = scaling_json(rotary);
  config["rope_theta"] = rotary.base;
  config["rope_scaling"] = rotary.scaling == "none" ? json() : scaling;
  config["rope_parameters"] = scaling;
  config["rope_parameters"]["rope_theta"] = rotary.base;
}

}  // namespace

ModelConfig llama_config(const json& config, const std::string& where) {
  const std::string activation = json_get_or<std::string>(config, "hidden_act", "silu", where);
  RETRO_CHECK(activation == "silu", "{}: `hidden_act` is `{}`; only silu is supported", where,
              activation);
  check_window(config, where);
  check_llama_keys(config, where);
  ModelConfig model;
  model.vocabulary = read_size(config, "vocab_size", where);
  model.width = read_size(config, "hidden_size", where);
  model.layers = read_size(config, "num_hidden_layers", where);
  model.heads = read_size(config, "num_attention_heads", where);
  model.head_width = read_size_or(config, "head_dim", model.width / model.heads, where);
  model.feed_forward = read_size(config, "intermediate_size", where);
  model.cca_layers.clear();
  model.tie_output = json_get_or(config, "tie_word_embeddings", false, where);
  model.block.norm_epsilon = json_get_or(config, "rms_norm_eps", 1e-6, where);
  model.block.positions = "rotary";
  model.block.key_value_heads = read_size_or(config, "num_key_value_heads", model.heads, where);
  model.block.feed_forward = "swiglu";
  model.block.bias = json_get_or(config, "attention_bias", false, where);
  RETRO_CHECK(model.block.bias == json_get_or(config, "mlp_bias", false, where),
              "{}: `attention_bias` and `mlp_bias` differ, which is not supported", where);
  model.block.rotary = read_rotary(config, where);
  return model.resolved();
}

json llama_json(const ModelConfig& config) {
  const BlockConfig& block = config.block;
  RETRO_CHECK(block.rotary.scaling != "ntk",
              "export: rotary scaling `ntk` has no counterpart in a Llama configuration");
  json out = {{"architectures", {"LlamaForCausalLM"}},
              {"model_type", "llama"},
              {"vocab_size", config.vocabulary},
              {"hidden_size", config.width},
              {"intermediate_size", config.feed_forward},
              {"num_hidden_layers", config.layers},
              {"num_attention_heads", config.heads},
              {"num_key_value_heads", block.key_value_heads},
              {"head_dim", config.head_width},
              {"hidden_act", "silu"},
              {"bos_token_id", nullptr},
              {"eos_token_id", nullptr},
              {"rms_norm_eps", block.norm_epsilon},
              {"attention_bias", block.bias},
              {"mlp_bias", block.bias},
              {"tie_word_embeddings", config.tie_output},
              {"torch_dtype", "float32"}};
  add_rotary(block.rotary, out);
  if (block.rotary.original_length > 0) {
    const double longest = static_cast<double>(block.rotary.original_length) * block.rotary.factor;
    out["max_position_embeddings"] = static_cast<int64_t>(longest);
  }
  return out;
}

std::vector<WeightRule> llama_rules(const ModelConfig& config) {
  std::vector<WeightRule> rules = {{"model.embed_tokens.weight", {"decoder.embed.weight"}},
                                   {"model.norm.weight", {"decoder.norm.weight"}}};
  if (!config.tie_output) rules.push_back({"lm_head.weight", {"decoder.output.weight"}});
  for (int64_t i = 0; i < config.layers; ++i) {
    const std::string theirs = fmt::format("model.layers.{}.", i), ours = decoder_layer(i);
    rules.push_back({theirs + "input_layernorm.weight", {ours + "self_attention.norm.weight"}});
    rules.push_back(
        {theirs + "post_attention_layernorm.weight", {ours + "feed_forward.norm.weight"}});
    const auto linear = [&](const char* name, const char* own) {
      add_linear(rules, theirs + name, ours + own, config.block.bias);
    };
    linear("self_attn.q_proj", "self_attention.query");
    linear("self_attn.k_proj", "self_attention.key");
    linear("self_attn.v_proj", "self_attention.value");
    linear("self_attn.o_proj", "self_attention.output");
    linear("mlp.gate_proj", "feed_forward.gate");
    linear("mlp.up_proj", "feed_forward.up");
    linear("mlp.down_proj", "feed_forward.down");
  }
  return rules;
}

}  // namespace retro
