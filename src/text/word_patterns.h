// The pre-tokenizers of tokenizer.json and of GGUF files that are supported.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "retro/text/byte_bpe_model.h"

namespace retro {

/// From the `pre_tokenizer` of a tokenizer.json. Throws Error naming `where` and what is unknown.
PreTokenizer read_pre_tokenizer(const nlohmann::json& value, const std::string& where);
/// The same the other way.
nlohmann::json pre_tokenizer_json(const PreTokenizer& pre_tokenizer);

/// From `tokenizer.ggml.pre`; llama.cpp's names. Throws Error naming `where` and the name.
PreTokenizer pre_tokenizer_of_gguf(const std::string& name, const std::string& where);

}  // namespace retro
