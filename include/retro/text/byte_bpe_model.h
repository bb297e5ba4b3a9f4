// What a byte-level BPE tokenizer is made of, from any of the files that hold one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "retro/core/gguf_vocabulary.h"

namespace retro {

/// How text is cut into words before merging. Regular expressions of the reference:
/// kGpt2: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
/// kLlama3: (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|
///          ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
enum class WordPattern { kGpt2, kLlama3 };

struct PreTokenizer {
  WordPattern pattern = WordPattern::kGpt2;
  /// Every digit is cut out first and stands alone; the pattern sees what lies between (SmolLM2).
  bool isolates_digits = false;
  /// Digits of one word in kLlama3: 3, or 1 for Qwen 2.
  int longest_number = 3;
  bool operator==(const PreTokenizer&) const = default;
};

struct ByteBpeModel {
  enum class Type : uint8_t {
    kNormal,
    kAdded,    ///< not of the merges, but found in text as it stands
    kSpecial,  ///< never found in text; decodes to nothing
    kAbsent,   ///< an id without a piece
  };
  struct Piece {
    std::string text;  ///< normal pieces in the byte-level alphabet ("Ġthe"), others as they are
    Type type = Type::kNormal;
  };
  std::string name;  ///< the file, for messages
  std::vector<Piece> pieces;
  std::vector<std::pair<std::string, std::string>> merges;  ///< best first
  PreTokenizer pre_tokenizer;
  bool prefers_whole_words = false;  ///< a word that is a piece is not merged (`ignore_merges`)
  int32_t begin_id = -1;             ///< -1: none
  int32_t end_id = -1;
};

/// From the tokenizer.json of Hugging Face. Throws Error naming the file and what is not supported:
/// another model than byte-level BPE, normalisers that change text, an unknown pre-tokenizer.
/// Left out, since decoding could not undo it: add_prefix_space, NFC, and templates that add
/// tokens.
ByteBpeModel read_tokenizer_json(const std::filesystem::path& path);
/// From GPT-2's pair of files, with special tokens from tokenizer_config.json and
/// added_tokens.json where they are there.
ByteBpeModel read_vocabulary_and_merges(const std::filesystem::path& directory);
/// From a GGUF file's metadata. Throws Error for another model or an unknown pre-tokenizer.
ByteBpeModel read_gguf_byte_bpe(const GgufReader& file);

/// Writes a tokenizer.json that `read_tokenizer_json` and Hugging Face's `tokenizers` read.
void write_tokenizer_json(const ByteBpeModel& model, const std::filesystem::path& path);

}  // namespace retro
