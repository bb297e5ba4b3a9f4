// What is known of each family of checkpoints: its configuration and the names of its tensors.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "retro/model/foreign_weights.h"
#include "retro/model/model_config.h"

namespace retro {

/// config.json of Hugging Face to ours (a baseline, chunks of 64). `where` names the file in
/// errors. Anything the decoder cannot express is an Error that names the key.
ModelConfig llama_config(const nlohmann::json& json, const std::string& where);
ModelConfig gpt2_config(const nlohmann::json& json, const std::string& where);
/// And back, without tokens of begin and end; a Llama's max_position_embeddings only where the
/// rotary positions say what it is.
nlohmann::json llama_json(const ModelConfig& config);
nlohmann::json gpt2_json(const ModelConfig& config);
/// Writes what carried_keys gave for the checkpoint a model comes from over those keys of `config`;
/// empty text changes nothing.
void repeat_carried_keys(const std::string& carried, nlohmann::json& config);

std::vector<WeightRule> llama_rules(const ModelConfig& config);
/// `prefix`: "transformer." or nothing, both are in use.
std::vector<WeightRule> gpt2_rules(const ModelConfig& config, const std::string& prefix);

/// "decoder.layers.3."
std::string decoder_layer(int64_t layer);
/// NAME.weight, and NAME.bias where the configuration has biases.
void add_linear(std::vector<WeightRule>& rules, const std::string& theirs, const std::string& ours,
                bool has_bias);

}  // namespace retro
