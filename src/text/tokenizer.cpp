#include "retro/text/tokenizer.h"

#include <optional>

#include "retro/core/bundle.h"
#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/text/byte_bpe_tokenizer.h"
#include "retro/text/sentencepiece_tokenizer.h"

#include "sentencepiece_writer.h"

namespace retro {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRolesFile = "tokenizer_config.json";

/// What a tokenizer's files hold.
struct TokenizerFile {
  enum class Kind { kSentencePiece, kTokenizerJson, kVocabularyAndMerges, kGguf };
  Kind kind;
  fs::path path;
};
using Kind = TokenizerFile::Kind;

/// tokenizer.model first: the tokenizer.json beside one says the same in another way.
TokenizerFile find_in_folder(const fs::path& folder) {
  const auto has = [&](const char* name) { return fs::exists(folder / name); };
  if (has("tokenizer.model")) return {Kind::kSentencePiece, folder / "tokenizer.model"};
  if (has("tokenizer.json")) return {Kind::kTokenizerJson, folder / "tokenizer.json"};
  if (has("vocab.json") && has("merges.txt")) return {Kind::kVocabularyAndMerges, folder};
  if (const auto gguf = find_gguf(folder)) return {Kind::kGguf, *gguf};
  throw Error(
      fmt::format("{}: holds no tokenizer (tokenizer.json, tokenizer.model, vocab.json and "
                  "merges.txt, or one GGUF file)",
                  folder.string()));
}

TokenizerFile find_tokenizer(const fs::path& path) {
  RETRO_CHECK(path_exists(path), "{}: no such file or folder", path.string());
  if (fs::is_directory(path)) return find_in_folder(path);
  if (path.filename() == "vocab.json" || path.filename() == "merges.txt")
    return {Kind::kVocabularyAndMerges, path.parent_path()};
  if (is_gguf_file(path)) return {Kind::kGguf, path};
  if (read_beginning(path, 1) == "{") return {Kind::kTokenizerJson, path};
  return {Kind::kSentencePiece, path};
}

bool is_byte_bpe(const GgufReader& file) { return read_gguf_vocabulary(file).model == "gpt2"; }

/// Nothing for SentencePiece.
std::optional<ByteBpeModel> read_byte_bpe(const TokenizerFile& file) {
  if (file.kind == Kind::kTokenizerJson) return read_tokenizer_json(file.path);
  if (file.kind == Kind::kVocabularyAndMerges) return read_vocabulary_and_merges(file.path);
  if (file.kind == Kind::kSentencePiece) return std::nullopt;
  const GgufReader gguf(file.path);
  return is_byte_bpe(gguf) ? std::optional(read_gguf_byte_bpe(gguf)) : std::nullopt;
}

/// The serialised model.
std::string read_sentencepiece(const TokenizerFile& file) {
  if (file.kind != Kind::kGguf) return read_file(file.path);
  return serialize_sentencepiece(read_gguf_vocabulary(GgufReader(file.path)), file.path.string());
}

}  // namespace

std::unique_ptr<Tokenizer> load_tokenizer(const fs::path& path,
                                          const std::string& end_of_document) {
  const TokenizerFile file = find_tokenizer(path);
  if (auto model = read_byte_bpe(file))
    return std::make_unique<ByteBpeTokenizer>(std::move(*model), end_of_document);
  return std::make_unique<SentencePieceTokenizer>(read_sentencepiece(file), file.path.string(),
                                                  end_of_document);
}

std::vector<fs::path> tokenizer_files(const fs::path& path) {
  const TokenizerFile file = find_tokenizer(path);
  const bool is_pair = file.kind == Kind::kVocabularyAndMerges;
  std::vector<fs::path> files;
  if (is_pair) {
    files = {file.path / "vocab.json", file.path / "merges.txt"};
  } else {
    files = {file.path};
  }
  const fs::path roles = files.front().parent_path() / kRolesFile;
  if ((is_pair || file.kind == Kind::kTokenizerJson) && fs::exists(roles)) files.push_back(roles);
  return files;
}

void copy_tokenizer(const fs::path& from, const fs::path& to) {
  const TokenizerFile file = find_tokenizer(from);
  if (const auto model = read_byte_bpe(file)) {
    write_tokenizer_json(*model, to);
  } else {
    write_file(to, read_sentencepiece(file));
  }
}

}  // namespace retro
