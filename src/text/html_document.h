// The readable text of an HTML page.
#pragma once

#include <string>
#include <string_view>

namespace retro {

struct HtmlDocument {
  std::string title;  ///< of <title>, or empty
  std::string text;
};

/// Leaves out tags, comments, and what is in script, style, noscript, template and svg; a title is
/// no text. Runs of white space become one space, except in pre; blocks (p, div, li, tr, td, th,
/// h1, br, ...) begin a new line. Character references are resolved (the names of HTML 4, and all
/// numbers). Any input gives its text: pages in use are often not well-formed, a head or an element
/// is not always closed, and an element may close itself (`<svg/>`).
HtmlDocument parse_html(std::string_view html);

}  // namespace retro
