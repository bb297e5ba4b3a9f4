// Reading another project's configuration: sizes, options that must have their usual value, keys
// that nobody here knows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "retro/core/json.h"
#include "retro/model/foreign_weights.h"
#include "retro/model/model_config.h"

namespace retro {

/// A size: 1 to 2^31 - 1, so that products of two fit. Throws Error naming the key.
int64_t read_size(const nlohmann::json& config, const std::string& key, const std::string& where);
/// The same with a value for a key that is missing or null.
int64_t read_size_or(const nlohmann::json& config, const std::string& key, int64_t fallback,
                     const std::string& where);

/// Throws Error unless `key` is missing, null or `usual`: with any other value the model computes
/// something that the decoder here cannot.
void require_usual(const nlohmann::json& config, const std::string& key,
                   const nlohmann::json& usual, const std::string& where);

/// The keys of `config` that begin with `prefix` and are not in `known`.
std::vector<std::string> unknown_keys(const nlohmann::json& config, std::string_view prefix,
                                      std::span<const std::string_view> known);
/// One warning that names them, if there are any.
void warn_of_unknown_keys(const std::vector<std::string>& keys, const std::string& where);

/// Before a model is built, which takes its memory, and rules are listed for its layers. Throws
/// Error for more layers than `source` has tensors, or far more weights than these hold.
void check_size(const ModelConfig& config, const ForeignTensors& source);

}  // namespace retro
