// Byte-level BPE, as GPT-2, Llama 3 and SmolLM2 use it. Ids equal those of the reference, Hugging
// Face's `tokenizers`, reading special tokens as text.
#pragma once

#include "retro/text/byte_bpe_model.h"
#include "retro/text/tokenizer.h"

namespace retro {

/// Text is cut into words by the model's pre-tokenizer; the bytes of each word are merged pair by
/// pair, the best-ranked pair first. Every byte stands for itself: no normalisation, no dummy
/// prefix. Special (control) tokens never come from text; other added tokens do, as in the
/// reference.
class ByteBpeTokenizer final : public Tokenizer {
 public:
  /// `end_of_document` names a special token; empty: <|endoftext|> where the model has it, else its
  /// end of sequence. Throws Error naming `model.name`: no such token, merges of unknown pieces.
  explicit ByteBpeTokenizer(ByteBpeModel model, const std::string& end_of_document = "");
  ~ByteBpeTokenizer() override;

  /// Also throws Error, with the offset, for a byte that the vocabulary has no piece for.
  EncodedText encode(std::string_view text) const override;
  /// As `encode`, for any bytes: broken UTF-8 is cut like symbols, and kept.
  EncodedText encode_bytes(std::string_view bytes) const;
  /// As `encode`, but special tokens written out in the text ("<|im_start|>") become their ids: for
  /// the templates of chats, never for documents.
  EncodedText encode_with_special(std::string_view text) const;
  std::string decode(std::span<const int32_t> ids) const override;

  int64_t vocabulary_size() const override;
  int32_t end_of_document() const override;
  std::string piece(int32_t id) const override;
  std::string identity() const override;
  /// The id of a special or other piece as the vocabulary writes it ("<|im_end|>"), or -1.
  int32_t find_piece(std::string_view piece) const;
  const ByteBpeModel& model() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace retro
