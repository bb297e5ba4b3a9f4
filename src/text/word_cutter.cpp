#include "word_cutter.h"

#include <algorithm>

#include "retro/core/utf8.h"

#include "character_class.h"

namespace retro {
namespace {

/// What stands at a place of the text. `kEnd` also for a digit that is cut out.
enum class WordPart : uint8_t { kLetter, kNumber, kSpace, kOther, kEnd };

WordPart kind_of(char32_t character) { return static_cast<WordPart>(class_of(character)); }

/// Walks over the characters of a text; copies are marks to go back to.
class Scanner {
 public:
  Scanner(std::string_view text, bool ends_at_digits)
      : text_(text), ends_at_digits_(ends_at_digits) {
    look();
  }

  WordPart kind() const { return kind_; }
  size_t position() const { return position_; }
  bool at(char character) const { return kind_ != WordPart::kEnd && text_[position_] == character; }
  bool at_newline() const { return at('\r') || at('\n'); }
  std::string_view rest() const { return text_.substr(position_); }

  void skip() { skip_bytes(length_); }
  void skip_bytes(size_t count) {
    position_ += count;
    look();
  }
  /// Goes to the first character of another kind, or over `most` characters.
  void skip_run(WordPart kind, size_t most = std::string_view::npos) {
    for (; kind_ == kind && most > 0; --most) skip();
  }
  void skip_newlines() {
    while (at_newline()) skip();
  }

 private:
  void look() {
    kind_ = WordPart::kEnd;
    if (position_ == text_.size()) return;
    const DecodedCharacter character = decode_character(rest());
    length_ = character.length;
    if (ends_at_digits_ && is_digit(character.value)) return;
    kind_ = kind_of(character.value);
  }

  std::string_view text_;
  size_t position_ = 0;
  size_t length_ = 0;
  WordPart kind_ = WordPart::kEnd;
  bool ends_at_digits_;
};

char lower(char byte) { return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte + 32) : byte; }

/// Bytes of 's 't 're 've 'm 'll 'd at the front, or 0.
size_t contraction(std::string_view text, bool ignores_case) {
  if (text.size() < 2 || text[0] != '\'') return 0;
  // Without regard to case the long s, U+017F, is an s too.
  if (ignores_case && text.substr(1).starts_with("\xC5\xBF")) return 3;
  const auto letter = [&](size_t i) {
    const char byte = i < text.size() ? text[i] : '\0';
    return ignores_case ? lower(byte) : byte;
  };
  const char first = letter(1);
  const char second = letter(2);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
  const bool has_two = (first == 'r' && second == 'e') || (first == 'v' && second == 'e') ||
                       (first == 'l' && second == 'l');
  return has_two ? 3 : 0;
}

/// \s+(?!\S)|\s+ : a run of spaces without its last one where a word follows.
size_t spaces(Scanner scanner) {
  size_t before_last = 0;
  while (scanner.kind() == WordPart::kSpace) {
    before_last = scanner.position();
    scanner.skip();
  }
  const bool keeps_last = scanner.kind() == WordPart::kEnd || before_last == 0;
  return keeps_last ? scanner.position() : before_last;
}

size_t gpt2_word(Scanner scanner) {
  if (const size_t length = contraction(scanner.rest(), false)) return length;
  Scanner word = scanner;
  if (word.at(' ')) word.skip();
  if (word.kind() == WordPart::kSpace || word.kind() == WordPart::kEnd) return spaces(scanner);
  word.skip_run(word.kind());
  return word.position();
}

/// [^\r\n\p{L}\p{N}]?\p{L}+ : letters with at most one other character before; 0 if there are none.
size_t llama3_letters(Scanner scanner) {
  if (scanner.kind() != WordPart::kLetter && scanner.kind() != WordPart::kNumber &&
      !scanner.at_newline())
    scanner.skip();
  if (scanner.kind() != WordPart::kLetter) return 0;
  scanner.skip_run(WordPart::kLetter);
  return scanner.position();
}

/// \s*[\r\n]+ : spaces up to the last newline among them; 0 if there is none.
size_t through_last_newline(Scanner scanner) {
  size_t end = 0;
  while (scanner.kind() == WordPart::kSpace) {
    const bool is_newline = scanner.at_newline();
    scanner.skip();
    if (is_newline) end = scanner.position();
  }
  return end;
}

size_t llama3_word(Scanner scanner, int longest_number) {
  if (const size_t length = contraction(scanner.rest(), true)) return length;
  if (const size_t length = llama3_letters(scanner)) return length;
  Scanner word = scanner;
  if (word.kind() == WordPart::kNumber) {
    word.skip_run(WordPart::kNumber, static_cast<size_t>(longest_number));
    return word.position();
  }
  if (word.at(' ')) word.skip();
  if (word.kind() == WordPart::kOther) {
    word.skip_run(WordPart::kOther);
    word.skip_newlines();
    return word.position();
  }
  const size_t length = through_last_newline(scanner);
  return length > 0 ? length : spaces(scanner);
}

}  // namespace

size_t first_word(std::string_view text, const PreTokenizer& pre_tokenizer) {
  const Scanner scanner(text, pre_tokenizer.isolates_digits);
  if (scanner.kind() == WordPart::kEnd) return decode_character(text).length;  // a digit
  return pre_tokenizer.pattern == WordPattern::kGpt2
             ? gpt2_word(scanner)
             : llama3_word(scanner, pre_tokenizer.longest_number);
}

}  // namespace retro
