// Text to words, as the pre-tokenizer of a byte-level BPE model cuts it.
#pragma once

#include <cstddef>
#include <string_view>

#include "retro/text/byte_bpe_model.h"

namespace retro {

/// Bytes of the first word of `text`, which must not be empty. The words of a text are its first
/// word and the words of the rest: no pattern looks back. Broken UTF-8 counts as symbols.
size_t first_word(std::string_view text, const PreTokenizer& pre_tokenizer);

}  // namespace retro
