#include "retro/report/text_page.h"

#include <cmath>

#include <fmt/core.h>

#include "retro/core/file_system.h"
#include "retro/core/progress.h"
#include "retro/report/html_text.h"

#include "html_page.h"
#include "reader_data.h"
#include "sections.h"

namespace retro {
namespace {

std::string change_html(const TextPage& text) {
  const double gain = text.bits_per_byte_off - text.bits_per_byte_on;
  if (!std::isfinite(gain)) return "<p class=headline>Retrieval was off: nothing to compare.</p>";
  return fmt::format(
      "<p class=headline>With passages to read, the model needs <strong>{:.1f} % {} bits</strong> "
      "for this text than the same model without them: {:.4f} instead of {:.4f} bits per "
      "byte.</p>",
      100 * std::abs(gain) / text.bits_per_byte_off, gain >= 0 ? "fewer" : "more",
      text.bits_per_byte_on, text.bits_per_byte_off);
}

std::string facts_html(const TextPage& text) {
  return fmt::format(
      "<ul class=facts><li><b>{}</b> tokens</li><li><b>{}</b> chunks</li><li>scored by "
      "<b>{}</b></li></ul>",
      format_count(text.num_tokens),
      format_count(static_cast<int64_t>(list_at(text.examples, "examples").size())),
      escape_html(text.model));
}

}  // namespace

void write_text_page(const TextPage& text, const std::filesystem::path& path) {
  const std::string reader = reader_html(
      text.examples,
      "Each chunk may be written with the passages found for the chunk before it: choose a chunk "
      "to see them. One text, one model: no interval says how far this carries over to others.");
  write_file(
      path, page_begin(escape_html(text.title)) + "<div class=run data-run=0>" +
                section_html(
                    {"summary", "What reading changed", facts_html(text) + change_html(text)}, "") +
                section_html({"reader", "Token by token", reader}, "") + "</div>" + page_end());
}

}  // namespace retro
