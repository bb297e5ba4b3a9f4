// Steps that the readers of byte-level BPE models share.
#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "retro/text/byte_bpe_model.h"

namespace retro {

/// Puts a piece at `id`, making room for it. Throws Error for a negative id or one beyond 2^24.
void set_piece(ByteBpeModel& model, int32_t id, std::string text, ByteBpeModel::Type type);

/// Pieces from {"piece": id}. A piece that is not of the byte-level alphabet becomes special.
void read_vocabulary(ByteBpeModel& model, const nlohmann::json& vocabulary);

/// "left right". Throws Error naming `where`.
std::pair<std::string, std::string> split_merge(const std::string& line, const std::string& where);

/// Begin and end of a sequence, and the special tokens it lists, from the tokenizer_config.json of
/// `folder`, where there is one.
void read_special_roles(ByteBpeModel& model, const std::filesystem::path& folder);

}  // namespace retro
