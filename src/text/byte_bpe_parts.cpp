#include "byte_bpe_parts.h"

#include <algorithm>

#include "retro/core/json.h"

#include "byte_alphabet.h"

namespace retro {
namespace {

using nlohmann::json;
using Type = ByteBpeModel::Type;

constexpr int32_t kLargestId = 1 << 24;

/// A special token of tokenizer_config.json: its text, alone or in an object; "" for none.
std::string token_text(const json& config, const char* key, const std::string& where) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return "";
  if (found->is_object()) return json_get<std::string>(*found, "content", where);
  return json_get<std::string>(config, key, where);
}

/// Marks the token named by `key` as special; its id, or `fallback`.
int32_t role_id(ByteBpeModel& model, const json& config, const char* key, const std::string& where,
                int32_t fallback) {
  const std::string text = token_text(config, key, where);
  if (text.empty()) return fallback;
  const auto found = std::find_if(model.pieces.begin(), model.pieces.end(),
                                  [&](const auto& piece) { return piece.text == text; });
  if (found == model.pieces.end()) return fallback;
  found->type = Type::kSpecial;
  return static_cast<int32_t>(found - model.pieces.begin());
}

/// `added_tokens_decoder`: {"id": {"content", "special", ...}}.
void read_added_tokens(ByteBpeModel& model, const json& config, const std::string& where) {
  const auto found = config.find("added_tokens_decoder");
  if (found == config.end()) return;
  for (const auto& [id, token] : found->items()) {
    const bool is_number =
        !id.empty() && id.size() < 9 && id.find_first_not_of("0123456789") == std::string::npos;
    RETRO_CHECK(is_number, "{}: `added_tokens_decoder` has `{}` for an id", where, id);
    const bool is_special = json_get_or(token, "special", false, where);
    set_piece(model, std::stoi(id), json_get<std::string>(token, "content", where),
              is_special ? Type::kSpecial : Type::kAdded);
  }
}

}  // namespace

void set_piece(ByteBpeModel& model, int32_t id, std::string text, Type type) {
  RETRO_CHECK(id >= 0 && id < kLargestId, "{}: token `{}` has the id {}, expected 0 to {}",
              model.name, text, id, kLargestId - 1);
  const auto index = static_cast<size_t>(id);
  if (index >= model.pieces.size()) model.pieces.resize(index + 1, {"", Type::kAbsent});
  model.pieces[index] = {std::move(text), type};
}

void read_vocabulary(ByteBpeModel& model, const json& vocabulary) {
  RETRO_CHECK(vocabulary.is_object() && !vocabulary.empty(), "{}: its vocabulary is empty",
              model.name);
  for (const auto& [piece, id] : vocabulary.items()) {
    RETRO_CHECK(json_is<int32_t>(id), "{}: piece `{}` has no id", model.name, piece);
    const Type type = bytes_of_piece(piece) ? Type::kNormal : Type::kSpecial;
    set_piece(model, id.get<int32_t>(), piece, type);
  }
}

std::pair<std::string, std::string> split_merge(const std::string& line, const std::string& where) {
  const size_t space = line.find(' ');
  const bool is_pair = space != std::string::npos && space > 0 && space + 1 < line.size() &&
                       line.find(' ', space + 1) == std::string::npos;
  RETRO_CHECK(is_pair, "{}: a merge is not a pair of pieces: `{:.40}`", where, line);
  return {line.substr(0, space), line.substr(space + 1)};
}

void read_special_roles(ByteBpeModel& model, const std::filesystem::path& folder) {
  const auto path = folder / "tokenizer_config.json";
  if (!std::filesystem::exists(path)) return;
  const json config = read_json_file(path);
  RETRO_CHECK(config.is_object(), "{}: expected a JSON object", path.string());
  read_added_tokens(model, config, path.string());
  model.begin_id = role_id(model, config, "bos_token", path.string(), model.begin_id);
  model.end_id = role_id(model, config, "eos_token", path.string(), model.end_id);
}

}  // namespace retro
