// GPT-2 checkpoints in the Hugging Face layout.
#include "retro/core/json.h"

#include "families.h"
#include "foreign_config.h"

namespace retro {

using nlohmann::json;

namespace {

constexpr std::string_view kKnownGpt2Keys[] = {
    // the model
    "model_type", "vocab_size", "n_embd", "n_layer", "n_head", "n_inner", "n_positions", "n_ctx",
    "activation_function", "layer_norm_epsilon", "tie_word_embeddings",
    // must have their usual value
    "scale_attn_weights", "scale_attn_by_inverse_layer_idx", "add_cross_attention",
    "is_encoder_decoder", "quantization_config",
    // training, bookkeeping, other heads, the order of sums
    "architectures", "attn_pdrop", "embd_pdrop", "resid_pdrop", "bos_token_id", "eos_token_id",
    "pad_token_id", "dtype", "torch_dtype", "initializer_range", "reorder_and_upcast_attn",
    "summary_activation", "summary_first_dropout", "summary_proj_to_labels", "summary_type",
    "summary_use_proj", "task_specific_params", "transformers_version", "use_cache",
    "_name_or_path", "_num_labels"};

void check_gpt2_keys(const json& config, const std::string& where) {
  require_usual(config, "scale_attn_weights", true, where);
  for (const char* key :
       {"scale_attn_by_inverse_layer_idx", "add_cross_attention", "is_encoder_decoder"})
    require_usual(config, key, false, where);
  require_usual(config, "quantization_config", nullptr, where);
  warn_of_unknown_keys(unknown_keys(config, "", kKnownGpt2Keys), where);
}

}  // namespace

ModelConfig gpt2_config(const json& config, const std::string& where) {
  const auto activation =
      json_get_or<std::string>(config, "activation_function", "gelu_new", where);
  RETRO_CHECK(activation == "gelu_new" || activation == "gelu_pytorch_tanh",
              "{}: `activation_function` is `{}`; only gelu_new is supported", where, activation);
  check_gpt2_keys(config, where);
  ModelConfig model;
  model.vocabulary = read_size(config, "vocab_size", where);
  model.width = read_size(config, "n_embd", where);
  model.layers = read_size(config, "n_layer", where);
  model.heads = read_size(config, "n_head", where);
  RETRO_CHECK(model.width % model.heads == 0, "{}: `n_head` ({}) does not divide `n_embd` ({})",
              where, model.heads, model.width);
  model.head_width = model.width / model.heads;
  model.feed_forward = read_size_or(config, "n_inner", 4 * model.width, where);
  model.cca_layers.clear();
  model.tie_output = json_get_or(config, "tie_word_embeddings", true, where);
  model.block.norm = "layer";
  model.block.norm_epsilon = json_get_or(config, "layer_norm_epsilon", 1e-5, where);
  model.block.positions = "learned";
  model.block.max_positions = read_size(config, "n_positions", where);
  model.block.bias = true;
  return model.resolved();
}

json gpt2_json(const ModelConfig& config) {
  return {{"architectures", {"GPT2LMHeadModel"}},
          {"model_type", "gpt2"},
          {"vocab_size", config.vocabulary},
          {"n_embd", config.width},
          {"n_layer", config.layers},
          {"n_head", config.heads},
          {"n_inner", config.feed_forward},
          {"n_positions", config.block.max_positions},
          {"activation_function", "gelu_new"},
          {"bos_token_id", nullptr},
          {"eos_token_id", nullptr},
          {"layer_norm_epsilon", config.block.norm_epsilon},
          {"tie_word_embeddings", config.tie_output},
          {"torch_dtype", "float32"}};
}

namespace {

/// [in, out] with a bias; several of ours stand side by side.
void add_transposed(std::vector<WeightRule>& rules, const std::string& theirs,
                    const std::vector<std::string>& ours) {
  WeightRule weight{theirs + ".weight", {}, true}, bias{theirs + ".bias", {}};
  for (const std::string& name : ours) {
    weight.ours.push_back(name + ".weight");
    bias.ours.push_back(name + ".bias");
  }
  rules.push_back(weight);
  rules.push_back(bias);
}

}  // namespace

std::vector<WeightRule> gpt2_rules(const ModelConfig& config, const std::string& prefix) {
  std::vector<WeightRule> rules = {{prefix + "wte.weight", {"decoder.embed.weight"}},
                                   {prefix + "wpe.weight", {"decoder.positions.weight"}}};
  add_linear(rules, prefix + "ln_f", "decoder.norm", true);
  if (!config.tie_output) rules.push_back({"lm_head.weight", {"decoder.output.weight"}});
  for (int64_t i = 0; i < config.layers; ++i) {
    const std::string theirs = fmt::format("{}h.{}.", prefix, i), ours = decoder_layer(i);
    const std::string attention = ours + "self_attention.", inner = ours + "feed_forward.";
    add_linear(rules, theirs + "ln_1", attention + "norm", true);
    add_linear(rules, theirs + "ln_2", inner + "norm", true);
    add_transposed(rules, theirs + "attn.c_attn",
                   {attention + "query", attention + "key", attention + "value"});
    add_transposed(rules, theirs + "attn.c_proj", {attention + "output"});
    add_transposed(rules, theirs + "mlp.c_fc", {inner + "up"});
    add_transposed(rules, theirs + "mlp.c_proj", {inner + "down"});
  }
  return rules;
}

}  // namespace retro
