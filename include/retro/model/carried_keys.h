// What a checkpoint says that the decoder computes nothing with: kept beside the weights, so that
// an export says it again.
#pragma once

#include <filesystem>
#include <string>

namespace retro {

/// Name in the metadata of imported weights.
inline constexpr const char* kCarriedKeys = "carried_keys";

/// Those of bos_token_id, eos_token_id (a number, or several) and max_position_embeddings that a
/// checkpoint has, under the names of Hugging Face's config.json, as the text of a JSON object.
/// `checkpoint`: a directory with config.json, or a GGUF file. Values of another kind are left out.
std::string carried_keys(const std::filesystem::path& checkpoint);

}  // namespace retro
