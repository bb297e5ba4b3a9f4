// Text to token ids and back, exactly.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retro {

/// Token ids with the number of bytes of the source text each one covers; the bytes sum to the
/// text's length.
struct EncodedText {
  std::vector<int32_t> ids;
  std::vector<uint16_t> bytes;
};

/// End of document where no other is named.
inline constexpr std::string_view kUsualSeparator = "<|endoftext|>";

/// A language model's tokenizer. Thread-safe once constructed. decode(encode(x).ids) == x for any
/// valid UTF-8 x.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Throws Error (with the byte offset) for invalid UTF-8. Special tokens are never produced from
  /// text.
  virtual EncodedText encode(std::string_view text) const = 0;
  /// The bytes the ids stand for, concatenated; a range that begins or ends inside a UTF-8
  /// character gives broken bytes (see `replace_broken_utf8`). The end-of-document token stands for
  /// nothing.
  virtual std::string decode(std::span<const int32_t> ids) const = 0;

  virtual int64_t vocabulary_size() const = 0;
  virtual int32_t end_of_document() const = 0;
  /// The piece as a person reads it ("▁the", "<0x0A>").
  virtual std::string piece(int32_t id) const = 0;
  /// Names the exact model (content hash); part of every corpus and database made with it.
  virtual std::string identity() const = 0;
};

/// Chooses the tokenizer by content. `path`: a SentencePiece model, a tokenizer.json with
/// byte-level BPE, a GGUF file with either, or a folder with tokenizer.json, tokenizer.model, one
/// GGUF file, or vocab.json and merges.txt. `end_of_document` names a special token; empty:
/// <|endoftext|> where there is one, else the end of sequence. Throws Error naming the file and
/// what it is.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& path,
                                          const std::string& end_of_document = "");

/// Every file that `load_tokenizer(path)` reads.
std::vector<std::filesystem::path> tokenizer_files(const std::filesystem::path& path);

/// Writes the tokenizer that `load_tokenizer(from)` gives into one file, atomically: a
/// SentencePiece model as it is, byte-level BPE as a tokenizer.json. Both have the same identity.
void copy_tokenizer(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace retro
