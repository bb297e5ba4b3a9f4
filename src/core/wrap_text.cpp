#include "retro/core/wrap_text.h"

#include <algorithm>

#include "retro/core/utf8.h"

namespace retro {
namespace {

constexpr std::string_view kSpaces = " \t\n\r\f\v";

size_t columns(std::string_view text) {
  size_t count = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = std::min(text.find('m', i), text.size());
    } else if (!is_continuation_byte(text[i])) {
      ++count;
    }
  }
  return count;
}

/// Takes the first word off; empty when none is left.
std::string_view take_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(kSpaces));
  text.remove_prefix(word.size());
  return word;
}

}  // namespace

std::string wrap_text(std::string_view text, size_t width, std::string_view indent) {
  std::string lines(indent);
  size_t column = columns(indent);
  const size_t margin = column;
  for (std::string_view word = take_word(text); !word.empty(); word = take_word(text)) {
    const size_t length = columns(word);
    if (column > margin && column + 1 + length > width) {
      lines.append("\n").append(indent);
      column = margin;
    }
    if (column > margin) {
      lines += ' ';
      ++column;
    }
    lines += word;
    column += length;
  }
  return lines + "\n";
}

}  // namespace retro
