// Running text for a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace retro {

/// Lines of at most `width` columns, each behind `indent` and ended by a newline. White space of
/// any kind becomes one space; a longer word has a line of its own. UTF-8 characters count one
/// column, colour codes (ESC [ ... m) none.
std::string wrap_text(std::string_view text, size_t width, std::string_view indent);

}  // namespace retro
