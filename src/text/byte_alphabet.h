// GPT-2's alphabet: a printable character for each byte, so that pieces can be written in JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace retro {

/// The bytes 21..7E, A1..AC and AE..FF are the characters of those numbers; the other 68, in order,
/// U+0100 and upward: "Ġ" is the space.
char32_t character_of_byte(unsigned char byte);

/// The bytes a piece stands for ("Ġthe" is " the"); nothing if a character is not of the alphabet.
std::optional<std::string> bytes_of_piece(std::string_view piece);

}  // namespace retro
