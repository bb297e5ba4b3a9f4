// UTF-8 checks and repairs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace retro {

/// Offset of the first byte that is not valid UTF-8, or -1.
int64_t first_invalid_utf8(std::string_view text);
/// Broken bytes become U+FFFD (METHOD section 2: a chunk may begin inside a character).
std::string replace_broken_utf8(std::string_view text);

}  // namespace retro
