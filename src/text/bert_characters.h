// How the reference BERT tokenizer classes the characters beyond ASCII (from U+0080).
#pragma once

namespace retro {

/// Control, format and private-use characters, and U+FFFD: cleaned away.
bool is_dropped(char32_t character);
bool is_space(char32_t character);
/// Non-spacing marks: stripped as accents.
bool is_mark(char32_t character);
/// "CJK" as BERT means it: each is a word of its own.
bool is_ideograph(char32_t character);
/// Each is a word of its own.
bool is_punctuation(char32_t character);

}  // namespace retro
