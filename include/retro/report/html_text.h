// Text made safe for HTML.
#pragma once

#include <string>
#include <string_view>

namespace retro {

/// &, <, >, " and ' as entities.
std::string escape_html(std::string_view text);
/// JSON made safe inside a script element: "</" and "<!--" cannot end it.
std::string escape_script_json(std::string_view json);

}  // namespace retro
