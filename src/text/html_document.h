// The readable text of an HTML page.
#pragma once

#include <string>
#include <string_view>

namespace retro {

struct HtmlDocument {
  std::string title;  ///< of <title>, or empty
  std::string text;
};

/// Leaves out tags, comments, and what is in head, script, style, noscript, template and svg. Runs
/// of white space become one space, except in pre; blocks (p, div, li, tr, h1, br, ...) begin a new
/// line. Character references are resolved (the common names, and all numbers). Any input gives
/// some text: pages in use are often not well-formed.
HtmlDocument parse_html(std::string_view html);

}  // namespace retro
