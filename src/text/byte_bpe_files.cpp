// Byte-level BPE models from GPT-2's pair of files and from GGUF metadata.
#include <algorithm>

#include "retro/core/json.h"
#include "retro/text/byte_bpe_model.h"
#include "retro/text/tokenizer.h"

#include "byte_bpe_parts.h"
#include "line_reader.h"
#include "word_patterns.h"

namespace retro {
namespace {

using Type = ByteBpeModel::Type;

void read_merges(ByteBpeModel& model, const std::filesystem::path& path) {
  TextFile file(path);
  for (std::string line; file.next_line(line);) {
    const bool is_version = file.line_number() == 1 && line.starts_with("#version");
    if (is_version || line.empty()) continue;
    model.merges.push_back(
        split_merge(line, fmt::format("{}:{}", path.string(), file.line_number())));
  }
}

/// llama_token_type of llama.h.
Type type_of(int32_t type) {
  constexpr int32_t kUserDefined = 4;
  if (type == 1) return Type::kNormal;
  return type == kUserDefined ? Type::kAdded : Type::kSpecial;
}

}  // namespace

ByteBpeModel read_vocabulary_and_merges(const std::filesystem::path& directory) {
  ByteBpeModel model;
  model.name = (directory / "vocab.json").string();
  read_vocabulary(model, read_json_file(directory / "vocab.json"));
  read_merges(model, directory / "merges.txt");
  const auto separator =
      std::find_if(model.pieces.begin(), model.pieces.end(),
                   [](const auto& piece) { return piece.text == kUsualSeparator; });
  if (separator != model.pieces.end()) separator->type = Type::kSpecial;
  read_special_roles(model, directory);
  return model;
}

ByteBpeModel read_gguf_byte_bpe(const GgufReader& file) {
  const GgufVocabulary vocabulary = read_gguf_vocabulary(file);
  ByteBpeModel model;
  model.name = file.path().string();
  RETRO_CHECK(vocabulary.model == "gpt2",
              "{}: its tokenizer is of kind `{}`; expected byte-level BPE (`gpt2`)", model.name,
              vocabulary.model);
  model.pre_tokenizer = pre_tokenizer_of_gguf(vocabulary.pre_tokenizer, model.name);
  // llama.cpp does this for Llama 3 alone, whose tokenizer.json says `ignore_merges`.
  model.prefers_whole_words = model.pre_tokenizer == PreTokenizer{WordPattern::kLlama3};
  for (size_t id = 0; id < vocabulary.pieces.size(); ++id) {
    const int32_t type = vocabulary.types.empty() ? 1 : vocabulary.types[id];
    set_piece(model, static_cast<int32_t>(id), vocabulary.pieces[id], type_of(type));
  }
  for (const std::string& merge : vocabulary.merges)
    model.merges.push_back(split_merge(merge, model.name));
  model.begin_id = vocabulary.begin_id;
  model.end_id = vocabulary.end_id;
  return model;
}

}  // namespace retro
