#include "character_class.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include <utf8proc.h>

namespace retro {
namespace {

struct CharacterRange {
  char32_t first;
  char32_t last;
};

// White_Space of PropList.txt.
constexpr CharacterRange kSpaces[] = {
    {0x09, 0x0D},     {0x20, 0x20},     {0x85, 0x85},     {0xA0, 0xA0},     {0x1680, 0x1680},
    {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000},
};

// New in Unicode 15.1 and 16; utf8proc 2.8 knows Unicode 15.
constexpr CharacterRange kNewLetters[] = {
    {0x1C89, 0x1C8A},   {0xA7CB, 0xA7CD},   {0xA7DA, 0xA7DC},   {0x105C0, 0x105F3},
    {0x10D4A, 0x10D65}, {0x10D6F, 0x10D85}, {0x10EC2, 0x10EC4}, {0x11380, 0x11389},
    {0x1138B, 0x1138B}, {0x1138E, 0x1138E}, {0x11390, 0x113B5}, {0x113B7, 0x113B7},
    {0x113D1, 0x113D1}, {0x113D3, 0x113D3}, {0x11BC0, 0x11BE0}, {0x13460, 0x143FA},
    {0x16100, 0x1611D}, {0x16D40, 0x16D6C}, {0x18CFF, 0x18CFF}, {0x1E5D0, 0x1E5ED},
    {0x1E5F0, 0x1E5F0}, {0x2EBF0, 0x2EE5D},
};
constexpr CharacterRange kNewNumbers[] = {
    {0x10D40, 0x10D49}, {0x116D0, 0x116E3}, {0x11BF0, 0x11BF9}, {0x16130, 0x16139},
    {0x16D70, 0x16D79}, {0x1CCF0, 0x1CCF9}, {0x1E5F1, 0x1E5FA},
};
// New in Unicode 17.
constexpr CharacterRange kNewestNumbers[] = {{0x11DE0, 0x11DE9}, {0x16FF4, 0x16FF6}};

bool contains(std::span<const CharacterRange> ranges, char32_t character) {
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), character,
                       [](char32_t c, const CharacterRange& r) { return c < r.first; });
  return after != ranges.begin() && character <= std::prev(after)->last;
}

CharacterClass class_of_category(utf8proc_category_t category) {
  if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO)
    return CharacterClass::kLetter;
  if (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO)
    return CharacterClass::kNumber;
  return CharacterClass::kOther;
}

CharacterClass look_up(char32_t character) {
  if (contains(kSpaces, character)) return CharacterClass::kSpace;
  if (contains(kNewLetters, character)) return CharacterClass::kLetter;
  if (contains(kNewNumbers, character)) return CharacterClass::kNumber;
  if (contains(kNewestNumbers, character)) return CharacterClass::kOther;
  return class_of_category(utf8proc_category(static_cast<utf8proc_int32_t>(character)));
}

/// Classes of the characters of Latin, Greek, Cyrillic, Hebrew and Arabic text.
constexpr size_t kTableSize = 0x700;

const std::array<CharacterClass, kTableSize>& table() {
  static const auto classes = [] {
    std::array<CharacterClass, kTableSize> made{};
    for (size_t i = 0; i < kTableSize; ++i) made[i] = look_up(static_cast<char32_t>(i));
    return made;
  }();
  return classes;
}

}  // namespace

CharacterClass class_of(char32_t character) {
  return character < kTableSize ? table()[character] : look_up(character);
}

bool is_digit(char32_t character) {
  if (character < 0x80) return character >= '0' && character <= '9';
  return class_of(character) == CharacterClass::kNumber || contains(kNewestNumbers, character);
}

}  // namespace retro
