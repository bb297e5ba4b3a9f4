// Character references of HTML: &eacute; &#233; &#xE9;
#pragma once

#include <string>
#include <string_view>

namespace retro {

/// The longest reference, with its & and ;.
inline constexpr size_t kLongestHtmlCharacter = 12;

/// Appends the character that `name` stands for between & and ;: a name of HTML 4 or a number. A
/// no-break space becomes a space, a number that is no character U+FFFD. False for an unknown name.
bool append_html_character(std::string_view name, std::string& out);

}  // namespace retro
