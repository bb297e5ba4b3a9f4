// The frame of a self-contained page: head, style, script, sections.
#pragma once

#include <string>

#include "sections.h"

namespace retro {

/// From the doctype to the beginning of <main>. `title` is HTML.
std::string page_begin(const std::string& title);
/// The section under its heading; nothing for one without content. `prefix` makes ids unique.
std::string section_html(const Section& section, const std::string& prefix);
/// The end of <main>, and the script.
std::string page_end();

}  // namespace retro
