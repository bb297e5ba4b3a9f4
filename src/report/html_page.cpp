#include "html_page.h"

#include <fmt/core.h>

#include "page_files.h"

namespace retro {

std::string page_begin(const std::string& title) {
  return "<!doctype html><html lang=en><head><meta charset=utf-8>"
         "<meta name=viewport content=\"width=device-width, initial-scale=1\">"
         "<meta name=color-scheme content=\"light dark\"><link rel=icon href=\"data:,\"><title>" +
         title + "</title><style>" + std::string(kPageStyle) +
         "</style></head><body><a class=skip href=\"#main\">Skip to the results</a>"
         "<header class=top><p class=brand>retro.cpp</p><h1>" +
         title +
         "</h1><button type=button class=theme hidden>Theme: automatic</button></header>"
         "<main id=main tabindex=-1>";
}

std::string section_html(const Section& section, const std::string& prefix) {
  if (section.html.empty()) return {};
  const std::string id = prefix + section.id;
  return fmt::format(
      "<section id=\"{0}\" aria-labelledby=\"{0}-title\"><h2 "
      "id=\"{0}-title\">{1}</h2>{2}</section>",
      id, section.title, section.html);
}

std::string page_end() {
  return "</main><script>" + std::string(kPageScript) + "</script></body></html>\n";
}

}  // namespace retro
