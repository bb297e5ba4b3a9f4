// SentencePiece models: trained and used in-process, lossless (identity normalisation, byte
// fallback).
#pragma once

#include <functional>

#include "retro/core/config.h"
#include "retro/text/tokenizer.h"

namespace retro {

struct TokenizerConfig {
  std::string path;  ///< an existing one instead of training (see load_tokenizer)
  std::string type = "unigram";
  int64_t vocabulary = 4096;
  int64_t training_bytes = 20'000'000;  ///< a seeded sample of at most so much text
  std::string end_of_document;          ///< piece name; empty: <|endoftext|>, else eos
  void visit_fields(FieldVisitor& visit);
};

/// Text is encoded line by line, and a line of more than 16 KiB in parts that end before a space,
/// so that time and memory stay linear and a line's ids do not depend on what stands before it
/// (segment_cutter.h). A dummy prefix the model asks for is left out, since decoding could not tell
/// it from a space of the text. Control pieces, and the end of document even where it is
/// user-defined, never come from text.
class SentencePieceTokenizer final : public Tokenizer {
 public:
  /// `end_of_document` names a control or user-defined piece; empty: <|endoftext|> where the model
  /// has it, else its end of sentence. Throws Error for a file that is no SentencePiece model, that
  /// has no byte fallback, or whose normaliser is not the identity (decode(encode(x)) would differ
  /// from x).
  explicit SentencePieceTokenizer(const std::filesystem::path& path,
                                  const std::string& end_of_document = "");
  /// From a serialised model; `name` stands in messages.
  SentencePieceTokenizer(std::string model, const std::string& name,
                         const std::string& end_of_document);
  ~SentencePieceTokenizer() override;

  EncodedText encode(std::string_view text) const override;
  std::string decode(std::span<const int32_t> ids) const override;
  int64_t vocabulary_size() const override;
  int32_t end_of_document() const override;
  std::string piece(int32_t id) const override;
  std::string identity() const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Calls `sink` with every training text once.
using TextSource = std::function<void(const std::function<void(std::string_view)>& sink)>;

/// Trains on a seeded sample of at most config.training_bytes and writes `path` atomically.
/// A vocabulary the text cannot fill: Error that names the largest possible one. `num_threads`
/// changes nothing in the result.
void train_sentencepiece(const TextSource& texts, const TokenizerConfig& config, uint64_t seed,
                         int num_threads, const std::filesystem::path& path);

}  // namespace retro
