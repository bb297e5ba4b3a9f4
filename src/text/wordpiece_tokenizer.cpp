#include "retro/text/wordpiece_tokenizer.h"

#include <algorithm>

#include "retro/core/bundle.h"
#include "retro/core/error.h"
#include "retro/core/json.h"
#include "retro/core/utf8.h"

#include "bert_words.h"
#include "line_reader.h"

namespace retro {
namespace {

using nlohmann::json;
using Options = WordPieceTokenizer::Options;

constexpr std::string_view kContinuationMark = "##";

/// An absent or null strip_accents follows lower-casing, as in the reference.
void read_strip_accents(const json& object, const std::string& where, Options& options) {
  options.strip_accents = json_get_or(object, "strip_accents", options.lower_case, where);
}

void read_tokenizer_config(const std::filesystem::path& path, Options& options) {
  const json config = read_json_file(path);
  const std::string where = path.string();
  options.lower_case = json_get_or(config, "do_lower_case", options.lower_case, where);
  options.split_cjk = json_get_or(config, "tokenize_chinese_chars", options.split_cjk, where);
  read_strip_accents(config, where, options);
}

void read_tokenizer_json(const std::filesystem::path& path, Options& options) {
  const json tokenizer = read_json_file(path);
  const std::string where = path.string();
  const json& model = json_at(tokenizer, "model", where);
  const auto type = json_get_or<std::string>(model, "type", "WordPiece", where);
  RETRO_CHECK(type == "WordPiece", "{}: its model is {}, expected WordPiece", where, type);
  options.longest_word =
      json_get_or(model, "max_input_chars_per_word", options.longest_word, where);
  const json& normalizer = json_at(tokenizer, "normalizer", where);
  if (json_get_or<std::string>(normalizer, "type", "", where) != "BertNormalizer") return;
  options.clean_text = json_get_or(normalizer, "clean_text", options.clean_text, where);
  options.split_cjk = json_get_or(normalizer, "handle_chinese_chars", options.split_cjk, where);
  options.lower_case = json_get_or(normalizer, "lowercase", options.lower_case, where);
  read_strip_accents(normalizer, where, options);
}

}  // namespace

void WordPieceTokenizer::PieceTable::add(std::string_view piece, int32_t id) {
  ids.insert_or_assign(std::string(piece), id);  // of equal lines the last counts
  longest_bytes = std::max(longest_bytes, piece.size());
}

int32_t WordPieceTokenizer::PieceTable::longest_match(std::string_view text, size_t& length) const {
  for (length = std::min(text.size(), longest_bytes); length > 0; --length) {
    const bool ends_inside_character = length < text.size() && is_continuation_byte(text[length]);
    if (ends_inside_character) continue;
    const auto found = ids.find(text.substr(0, length));
    if (found != ids.end()) return found->second;
  }
  return -1;
}

WordPieceTokenizer WordPieceTokenizer::from_directory(const std::filesystem::path& directory) {
  Options options;
  const auto config = directory / "tokenizer_config.json";
  if (path_exists(config)) read_tokenizer_config(config, options);
  const auto tokenizer = directory / "tokenizer.json";
  if (path_exists(tokenizer)) read_tokenizer_json(tokenizer, options);
  return WordPieceTokenizer(directory / "vocab.txt", options);
}

WordPieceTokenizer::WordPieceTokenizer(const std::filesystem::path& vocabulary, Options options)
    : options_(options) {
  read_vocabulary(vocabulary);
  cls_id_ = special_id(vocabulary, "[CLS]", "<s>");
  sep_id_ = special_id(vocabulary, "[SEP]", "</s>");
  unknown_id_ = special_id(vocabulary, "[UNK]", "<unk>");
}

void WordPieceTokenizer::read_vocabulary(const std::filesystem::path& path) {
  TextFile file(path);
  for (std::string piece; file.next_line(piece); ++vocabulary_size_) {
    const auto id = static_cast<int32_t>(vocabulary_size_);
    initial_.add(piece, id);
    if (!piece.starts_with(kContinuationMark)) continue;
    continuation_.add(std::string_view(piece).substr(kContinuationMark.size()), id);
  }
}

int32_t WordPieceTokenizer::special_id(const std::filesystem::path& path, std::string_view name,
                                       std::string_view other_name) const {
  auto found = initial_.ids.find(name);
  if (found == initial_.ids.end()) found = initial_.ids.find(other_name);
  RETRO_CHECK(found != initial_.ids.end(), "{}: expected a BERT vocabulary with the piece {} or {}",
              path.string(), name, other_name);
  return found->second;
}

std::vector<int32_t> WordPieceTokenizer::encode(std::string_view text) const {
  std::vector<int32_t> ids;
  ids.reserve(text.size() / 4);
  BertWords words(options_, [&](std::string_view word, int64_t characters) {
    encode_word(word, characters, ids);
  });
  words.split(text);
  return ids;
}

void WordPieceTokenizer::encode_word(std::string_view word, int64_t characters,
                                     std::vector<int32_t>& ids) const {
  const size_t first = ids.size();
  bool is_known = characters <= options_.longest_word;
  for (const PieceTable* table = &initial_; is_known && !word.empty(); table = &continuation_) {
    size_t length = 0;
    const int32_t id = table->longest_match(word, length);
    is_known = id >= 0;
    ids.push_back(id);
    word.remove_prefix(length);
  }
  if (is_known) return;
  // One piece without a match makes the whole word unknown.
  ids.resize(first);
  ids.push_back(unknown_id_);
}

}  // namespace retro
