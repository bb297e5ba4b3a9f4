#include "retro/generate/text_stream.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "retro/core/utf8.h"

namespace retro {

namespace {

/// Bytes of the character that `lead` begins; 0 where it begins none.
size_t character_length(uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return 2;
  if (lead >= 0xE0 && lead <= 0xEF) return 3;
  if (lead >= 0xF0 && lead <= 0xF4) return 4;
  return 0;
}

/// Second bytes are restricted after some leads: no overlong forms, no surrogates, nothing above
/// U+10FFFF.
bool can_be_second(uint8_t lead, uint8_t byte) {
  switch (lead) {
    case 0xE0:
      return byte >= 0xA0 && byte <= 0xBF;
    case 0xED:
      return byte >= 0x80 && byte <= 0x9F;
    case 0xF0:
      return byte >= 0x90 && byte <= 0xBF;
    case 0xF4:
      return byte >= 0x80 && byte <= 0x8F;
    default:
      return byte >= 0x80 && byte <= 0xBF;
  }
}

/// Length of the beginning of a character at the end of `text` that more bytes could complete.
size_t unfinished_length(std::string_view text) {
  for (size_t length = 1; length <= std::min<size_t>(3, text.size()); ++length) {
    const size_t begin = text.size() - length;
    const auto lead = static_cast<uint8_t>(text[begin]);
    if ((lead & 0xC0) == 0x80) continue;
    const bool is_second_possible =
        length < 2 || can_be_second(lead, static_cast<uint8_t>(text[begin + 1]));
    return is_second_possible && character_length(lead) > length ? length : 0;
  }
  return 0;
}

}  // namespace

std::string Utf8Stream::push(std::string_view bytes) {
  pending_ += bytes;
  const size_t complete = pending_.size() - unfinished_length(pending_);
  std::string text = replace_broken_utf8(std::string_view(pending_).substr(0, complete));
  pending_.erase(0, complete);
  return text;
}

std::string Utf8Stream::finish() {
  std::string text = replace_broken_utf8(pending_);
  pending_.clear();
  return text;
}

}  // namespace retro
