#include "bert_words.h"

#include <array>

#include <utf8proc.h>

#include "retro/core/utf8.h"

#include "bert_characters.h"

namespace retro {
namespace {

enum class AsciiClass : uint8_t { kLetter, kSpace, kControl, kPunctuation };

constexpr std::array<AsciiClass, 128> make_ascii_classes() {
  std::array<AsciiClass, 128> classes{};
  for (size_t c = 0; c < classes.size(); ++c) {
    const bool is_alphanumeric =
        (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    classes[c] = is_alphanumeric ? AsciiClass::kLetter : AsciiClass::kPunctuation;
    if (c < 0x20 || c == 0x7F) classes[c] = AsciiClass::kControl;
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') classes[c] = AsciiClass::kSpace;
  }
  return classes;
}

constexpr auto kAsciiClasses = make_ascii_classes();

/// Vertical tab and form feed: space to the splitter, unless cleaned away before.
bool is_unclean_space(char byte) { return byte == '\v' || byte == '\f'; }

char lower(char byte) { return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte + 32) : byte; }

}  // namespace

void BertWords::split(std::string_view text) {
  while (!text.empty()) {
    if (static_cast<unsigned char>(text[0]) < 0x80) {
      add_ascii(text[0]);
      text.remove_prefix(1);
      continue;
    }
    const DecodedCharacter character = decode_character(text);
    add_character(character.value);
    text.remove_prefix(character.length);
  }
  end_word();
}

void BertWords::add_ascii(char byte) {
  switch (kAsciiClasses[static_cast<unsigned char>(byte)]) {
    case AsciiClass::kSpace:
      return end_word();
    case AsciiClass::kControl:
      if (options_.clean_text) return;
      if (is_unclean_space(byte)) return end_word();
      break;
    case AsciiClass::kPunctuation:
      end_word();
      word_.push_back(byte);
      characters_ = 1;
      return end_word();
    case AsciiClass::kLetter:
      break;
  }
  word_.push_back(options_.lower_case ? lower(byte) : byte);
  ++characters_;
}

void BertWords::add_character(char32_t character) {
  if (options_.clean_text && is_dropped(character)) return;
  if (is_space(character)) return end_word();
  const bool stands_alone = options_.split_cjk && is_ideograph(character);
  if (stands_alone) end_word();
  if (options_.strip_accents) {
    add_decomposed(character);
  } else {
    add_lower(character);
  }
  if (stands_alone) end_word();
}

void BertWords::add_decomposed(char32_t character) {
  // The longest canonical decomposition has 4 characters.
  std::array<utf8proc_int32_t, 8> parts{};
  int boundary_class = 0;
  const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(character), parts.data(),
                                             static_cast<utf8proc_ssize_t>(parts.size()),
                                             UTF8PROC_DECOMPOSE, &boundary_class);
  for (utf8proc_ssize_t i = 0; i < count; ++i) {
    const auto part = static_cast<char32_t>(parts[static_cast<size_t>(i)]);
    if (part < 0x80) {
      add_ascii(static_cast<char>(part));
    } else if (!is_mark(part)) {
      add_lower(part);
    }
  }
}

void BertWords::add_lower(char32_t character) {
  if (!options_.lower_case) return append(character);
  constexpr char32_t kCapitalDottedI = 0x130;
  if (character != kCapitalDottedI) {
    return append(
        static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(character))));
  }
  // The one character with a longer lower case.
  append('i');
  append(0x307);
}

void BertWords::append(char32_t character) {
  if (character < 0x80)
    return add_ascii(static_cast<char>(character));  // U+212A, the Kelvin sign, is "k"
  if (is_space(character)) return end_word();
  const bool stands_alone = is_punctuation(character);
  if (stands_alone) end_word();
  append_utf8(word_, character);
  ++characters_;
  if (stands_alone) end_word();
}

void BertWords::end_word() {
  if (word_.empty()) return;
  sink_(word_, characters_);
  word_.clear();
  characters_ = 0;
}

}  // namespace retro
