#include "bert_config.h"

#include <string>

#include "retro/core/error.h"
#include "retro/core/json.h"

namespace retro {
namespace {

void check_architecture(const nlohmann::json& json, const std::string& where) {
  const auto type = json_get_or<std::string>(json, "model_type", "bert", where);
  RETRO_CHECK(type == "bert", "{}: model_type is `{}`; only `bert` can embed chunks", where, type);
  const auto activation = json_get_or<std::string>(json, "hidden_act", "gelu", where);
  RETRO_CHECK(activation == "gelu", "{}: hidden_act is `{}`; expected `gelu`", where, activation);
  const auto positions =
      json_get_or<std::string>(json, "position_embedding_type", "absolute", where);
  RETRO_CHECK(positions == "absolute", "{}: position_embedding_type is `{}`; expected `absolute`",
              where, positions);
}

void check_sizes(const BertConfig& config, const std::string& where) {
  constexpr int64_t kLargest = int64_t{1} << 24;
  for (const int64_t size : {config.vocabulary, config.width, config.layers, config.heads,
                             config.feed_forward, config.positions, config.token_types}) {
    RETRO_CHECK(size > 0 && size <= kLargest, "{}: a size of {} is out of range", where, size);
  }
  RETRO_CHECK(config.width % config.heads == 0,
              "{}: hidden_size {} is not a multiple of num_attention_heads {}", where, config.width,
              config.heads);
  RETRO_CHECK(config.positions >= 3, "{}: max_position_embeddings is {}, at least 3 are needed",
              where, config.positions);
}

}  // namespace

BertConfig read_bert_config(const std::filesystem::path& path) {
  const nlohmann::json json = read_json_file(path);
  const std::string where = path.string();
  check_architecture(json, where);
  BertConfig config;
  config.vocabulary = json_get<int64_t>(json, "vocab_size", where);
  config.width = json_get<int64_t>(json, "hidden_size", where);
  config.layers = json_get<int64_t>(json, "num_hidden_layers", where);
  config.heads = json_get<int64_t>(json, "num_attention_heads", where);
  config.feed_forward = json_get<int64_t>(json, "intermediate_size", where);
  config.positions = json_get<int64_t>(json, "max_position_embeddings", where);
  config.token_types = json_get_or<int64_t>(json, "type_vocab_size", 2, where);
  config.layer_norm_epsilon = json_get_or<double>(json, "layer_norm_eps", 1e-12, where);
  check_sizes(config, where);
  return config;
}

}  // namespace retro
