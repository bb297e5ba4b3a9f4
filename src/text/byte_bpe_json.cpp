// Format of tokenizer.json: the serialised Tokenizer of github.com/huggingface/tokenizers.
#include <algorithm>

#include "retro/core/json.h"
#include "retro/text/byte_bpe_model.h"

#include "byte_alphabet.h"
#include "byte_bpe_parts.h"
#include "word_patterns.h"

namespace retro {
namespace {

using nlohmann::json;
using Type = ByteBpeModel::Type;

void check_model(const json& model, const std::string& where) {
  const auto type = json_get_or<std::string>(model, "type", "BPE", where);
  RETRO_CHECK(
      type == "BPE",
      "{}: its model is {}, expected byte-level BPE (a SentencePiece tokenizer is read from "
      "its tokenizer.model)",
      where, type);
  RETRO_CHECK(!json_get_or(model, "byte_fallback", false, where),
              "{}: is SentencePiece BPE written as JSON; give its tokenizer.model instead", where);
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    RETRO_CHECK(json_get_or<std::string>(model, key, "", where).empty(),
                "{}: `{}` is not supported; expected byte-level BPE without it", where, key);
  }
}

/// NFC is let pass and left out: text in that form, nearly all there is, has the same ids.
void check_normalizer(const json& tokenizer, const std::string& where) {
  const auto found = tokenizer.find("normalizer");
  if (found == tokenizer.end() || found->is_null()) return;
  const auto type = json_get<std::string>(*found, "type", where);
  const bool is_empty = type == "Sequence" && json_at(*found, "normalizers", where).empty();
  RETRO_CHECK(is_empty || type == "NFC",
              "{}: its normaliser {} changes the text, so bits per byte would be wrong", where,
              type);
}

std::pair<std::string, std::string> merge_of(const json& value, const std::string& where) {
  if (value.is_string()) return split_merge(value.get<std::string>(), where);
  RETRO_CHECK(value.is_array() && value.size() == 2 && value[0].is_string() && value[1].is_string(),
              "{}: a merge is not a pair of pieces: {:.40}", where, json_line(value));
  return {value[0].get<std::string>(), value[1].get<std::string>()};
}

void add_token(ByteBpeModel& model, const json& token, const std::string& where) {
  const auto id = json_get<int32_t>(token, "id", where);
  const auto text = json_get<std::string>(token, "content", where);
  const bool is_special = json_get_or(token, "special", false, where);
  for (const char* key : {"lstrip", "rstrip", "single_word"}) {
    RETRO_CHECK(is_special || !json_get_or(token, key, false, where),
                "{}: the added token `{}` takes spaces with it (`{}`), which is not supported",
                where, text, key);
  }
  set_piece(model, id, text, is_special ? Type::kSpecial : Type::kAdded);
  const auto role = json_get_or<std::string>(token, "role", "", where);
  if (role == "begin_of_sequence") model.begin_id = id;
  if (role == "end_of_sequence") model.end_id = id;
}

/// Our own key beside a special token: Hugging Face keeps it in tokenizer_config.json.
json role_of(const ByteBpeModel& model, int32_t id) {
  if (id == model.end_id) return "end_of_sequence";
  if (id == model.begin_id) return "begin_of_sequence";
  return nullptr;
}

json added_token_json(const ByteBpeModel& model, int32_t id) {
  const auto& [text, type] = model.pieces[static_cast<size_t>(id)];
  json token = {{"id", id},
                {"content", text},
                {"single_word", false},
                {"lstrip", false},
                {"rstrip", false},
                {"normalized", false},
                {"special", type == Type::kSpecial}};
  if (const json role = role_of(model, id); !role.is_null()) token["role"] = role;
  return token;
}

json model_json(const ByteBpeModel& model) {
  json merges = json::array();
  for (const auto& [left, right] : model.merges) merges.push_back({left, right});
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", model.prefers_whole_words},
          {"vocab", json::object()},
          {"merges", std::move(merges)}};
}

}  // namespace

ByteBpeModel read_tokenizer_json(const std::filesystem::path& path) {
  const std::string where = path.string();
  const json tokenizer = read_json_file(path);
  const json& parts = json_at(tokenizer, "model", where);
  check_model(parts, where);
  check_normalizer(tokenizer, where);
  ByteBpeModel model;
  model.name = where;
  model.pre_tokenizer = read_pre_tokenizer(json_at(tokenizer, "pre_tokenizer", where), where);
  model.prefers_whole_words = json_get_or(parts, "ignore_merges", false, where);
  read_vocabulary(model, json_at(parts, "vocab", where));
  for (const json& merge : json_at(parts, "merges", where))
    model.merges.push_back(merge_of(merge, where));
  read_special_roles(model, path.parent_path());
  if (tokenizer.contains("added_tokens")) {
    for (const json& token : tokenizer["added_tokens"]) add_token(model, token, where);
  }
  return model;
}

void write_tokenizer_json(const ByteBpeModel& model, const std::filesystem::path& path) {
  json parts = model_json(model);
  json added = json::array();
  for (size_t id = 0; id < model.pieces.size(); ++id) {
    const auto& [text, type] = model.pieces[id];
    if (type == Type::kAbsent) continue;
    if (type != Type::kAdded) parts["vocab"][text] = id;
    if (type != Type::kNormal) added.push_back(added_token_json(model, static_cast<int32_t>(id)));
  }
  const json byte_level = {{"type", "ByteLevel"},
                           {"add_prefix_space", false},
                           {"trim_offsets", true},
                           {"use_regex", true}};
  write_json_file(path, {{"version", "1.0"},
                         {"truncation", nullptr},
                         {"padding", nullptr},
                         {"added_tokens", std::move(added)},
                         {"normalizer", nullptr},
                         {"pre_tokenizer", pre_tokenizer_json(model.pre_tokenizer)},
                         {"post_processor", nullptr},
                         {"decoder", byte_level},
                         {"model", std::move(parts)}});
}

}  // namespace retro
