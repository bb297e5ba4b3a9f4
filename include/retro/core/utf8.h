// UTF-8 (Unicode 15, table 3-7): one character at a time, checks and repairs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace retro {

/// The character at the front of a text. For broken bytes `is_valid` is false and `length` is the
/// maximal subpart (1 to 3 bytes) that one U+FFFD replaces.
struct DecodedCharacter {
  char32_t value = 0;
  size_t length = 0;
  bool is_valid = true;
};

/// `text` must not be empty.
DecodedCharacter decode_character(std::string_view text);

/// Appends a valid character (at most U+10FFFF).
void append_utf8(std::string& text, char32_t character);

/// True for bytes 80..BF, which never begin a character.
inline bool is_continuation_byte(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

/// Offset of the first byte that is not valid UTF-8, or -1.
int64_t first_invalid_utf8(std::string_view text);
/// Broken bytes become U+FFFD (METHOD section 2: a chunk may begin inside a character).
std::string replace_broken_utf8(std::string_view text);

}  // namespace retro
