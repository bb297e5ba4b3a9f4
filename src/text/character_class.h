// The classes of characters that pre-tokenizers of byte-level BPE tell apart.
#pragma once

#include <cstdint>

namespace retro {

/// \p{L}, \p{N}, \s, and everything else.
enum class CharacterClass : uint8_t { kLetter, kNumber, kSpace, kOther };

/// As the reference's regular expressions class it (Unicode 16), whatever Unicode the utf8proc of
/// this system knows.
CharacterClass class_of(char32_t character);

/// Whether the reference's `Digits` cuts it out: numbers, as Unicode 17 has them.
bool is_digit(char32_t character);

}  // namespace retro
