// A text's words as BERT sees them: cleaned, lower-cased, without accents, split at spaces and
// punctuation.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "retro/text/wordpiece_tokenizer.h"

namespace retro {

/// Walks through one text. The steps and their order are those of the reference's BertNormalizer
/// and BertPreTokenizer: clean, set ideographs apart, decompose (NFD) and drop non-spacing marks,
/// lower-case, split. Canonical reordering is left out: it moves only marks, which are dropped, and
/// a few spacing marks past each other.
class BertWords {
 public:
  /// `characters` is the word's length in characters.
  using Sink = std::function<void(std::string_view word, int64_t characters)>;
  BertWords(const WordPieceTokenizer::Options& options, Sink sink)
      : options_(options), sink_(std::move(sink)) {}

  /// Calls the sink for each word of `text`; broken UTF-8 is read as U+FFFD.
  void split(std::string_view text);

 private:
  void add_ascii(char byte);
  void add_character(char32_t character);
  void add_decomposed(char32_t character);
  void add_lower(char32_t character);
  void append(char32_t character);
  void end_word();

  const WordPieceTokenizer::Options& options_;
  Sink sink_;
  std::string word_;
  int64_t characters_ = 0;
};

}  // namespace retro
