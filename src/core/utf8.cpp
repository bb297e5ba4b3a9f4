#include "retro/core/utf8.h"

#include <cstring>

namespace retro {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// What a first byte demands: length of the character and the range of its second byte.
struct LeadByte {
  size_t length = 0;  ///< 0: no character begins so
  unsigned char second_min = 0x80;
  unsigned char second_max = 0xBF;
};

LeadByte lead_byte(unsigned char byte) {
  if (byte >= 0xC2 && byte <= 0xDF) return {2};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};  // no surrogates
  if (byte >= 0xE1 && byte <= 0xEF) return {3};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte >= 0xF1 && byte <= 0xF3) return {4};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {};
}

/// Bytes of pure ASCII at the front, in steps of eight.
size_t ascii_prefix(std::string_view text) {
  size_t length = 0;
  while (length + 8 <= text.size()) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + length, 8);
    if ((word & 0x8080808080808080U) != 0) break;
    length += 8;
  }
  return length;
}

}  // namespace

DecodedCharacter decode_character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return {first, 1, true};
  const LeadByte lead = lead_byte(first);
  if (lead.length == 0) return {0xFFFD, 1, false};
  // 0x3F, 0x1F, 0x0F, 0x07: the payload bits of the first byte.
  char32_t value = first & (0xFFU >> (lead.length + 1));
  for (size_t i = 1; i < lead.length; ++i) {
    const unsigned char byte = i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
    const unsigned char low = i == 1 ? lead.second_min : 0x80;
    const unsigned char high = i == 1 ? lead.second_max : 0xBF;
    if (byte < low || byte > high) return {0xFFFD, i, false};
    value = (value << 6) | (byte & 0x3FU);
  }
  return {value, lead.length, true};
}

void append_utf8(std::string& text, char32_t character) {
  const auto add = [&text](char32_t byte) { text.push_back(static_cast<char>(byte)); };
  const auto add_tail = [&](int shift) { add(0x80 | ((character >> shift) & 0x3F)); };
  if (character < 0x80) {
    add(character);
  } else if (character < 0x800) {
    add(0xC0 | (character >> 6));
    add_tail(0);
  } else if (character < 0x10000) {
    add(0xE0 | (character >> 12));
    add_tail(6);
    add_tail(0);
  } else {
    add(0xF0 | (character >> 18));
    add_tail(12);
    add_tail(6);
    add_tail(0);
  }
}

int64_t first_invalid_utf8(std::string_view text) {
  size_t offset = 0;
  while (offset < text.size()) {
    offset += ascii_prefix(text.substr(offset));
    if (offset == text.size()) break;
    const DecodedCharacter character = decode_character(text.substr(offset));
    if (!character.is_valid) return static_cast<int64_t>(offset);
    offset += character.length;
  }
  return -1;
}

std::string replace_broken_utf8(std::string_view text) {
  std::string repaired;
  repaired.reserve(text.size());
  while (!text.empty()) {
    const int64_t invalid = first_invalid_utf8(text);
    if (invalid < 0) break;
    const auto valid_bytes = static_cast<size_t>(invalid);
    repaired.append(text.substr(0, valid_bytes));
    repaired.append(kReplacement);
    text.remove_prefix(valid_bytes + decode_character(text.substr(valid_bytes)).length);
  }
  return repaired.append(text);
}

}  // namespace retro
