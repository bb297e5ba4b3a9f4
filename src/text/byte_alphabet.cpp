#include "byte_alphabet.h"

#include <array>

#include "retro/core/utf8.h"

namespace retro {
namespace {

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr std::array<char32_t, 256> make_characters() {
  std::array<char32_t, 256> characters{};
  char32_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte)
    characters[byte] = stands_for_itself(byte) ? char32_t{byte} : next++;
  return characters;
}

constexpr auto kCharacters = make_characters();
constexpr size_t kEnd = 0x100 + 68;  // one past the last character of the alphabet

/// The byte of each character, or -1.
constexpr std::array<int, kEnd> make_bytes() {
  std::array<int, kEnd> bytes{};
  bytes.fill(-1);
  for (int byte = 0; byte < 256; ++byte) bytes[kCharacters[static_cast<size_t>(byte)]] = byte;
  return bytes;
}

constexpr auto kBytes = make_bytes();

}  // namespace

char32_t character_of_byte(unsigned char byte) { return kCharacters[byte]; }

std::optional<std::string> bytes_of_piece(std::string_view piece) {
  std::string bytes;
  while (!piece.empty()) {
    const DecodedCharacter character = decode_character(piece);
    if (!character.is_valid || character.value >= kEnd || kBytes[character.value] < 0)
      return std::nullopt;
    bytes.push_back(static_cast<char>(kBytes[character.value]));
    piece.remove_prefix(character.length);
  }
  return bytes;
}

}  // namespace retro
