#include <cmath>

#include <fmt/core.h>

#include "retro/core/progress.h"
#include "retro/report/html_table.h"
#include "retro/report/html_text.h"
#include "retro/report/interval_bars.h"

#include "sections.h"
#include "verdict_words.h"

namespace retro {
namespace {

std::string bars_html(const Json& result, const Json& row) {
  const std::string reference = text_at(result, "reference");
  std::vector<IntervalBar> bars;
  for (const std::string& column : unshifted_columns(result)) {
    const Json* system = find_system(row, column);
    if (system == nullptr) continue;
    const Gain gain = gain_at(*system);
    const std::string bits = fmt::format("{:.4f}", number_at(*system, "bits_per_byte"));
    bars.push_back({column_title(column), kind_of(column), bits,
                    column == reference ? "" : gain_text(gain), gain.estimate, gain.low, gain.high,
                    kind_of(column) != "leaked"});
  }
  return fmt::format(
      "<figure class=whole><figcaption>Bits per byte, and the gain over {}: to the right is "
      "better</figcaption>{}</figure>",
      escape_html(column_title(reference)), interval_bars_html(bars));
}

std::string group_facts(const Json& group) {
  const Json facts = group.value("retrieval", Json::object());
  const double queries = number_at(facts, "queries");
  if (!std::isfinite(queries)) return {};
  return fmt::format(
      "<p class=small>{} chunks looked up, {:.1f} % of them found a passage, mean squared distance "
      "{:.3f}, mean overlap {:.1f} %.</p>",
      format_count(static_cast<int64_t>(queries)), 100 * number_at(facts, "share_with_neighbour"),
      number_at(facts, "mean_distance"), 100 * number_at(facts, "mean_overlap"));
}

std::string panel_html(const Json& result, const Json& group) {
  const Json verdict = group.value("verdict", Json::object());
  const VerdictWords words = verdict_words(text_at(verdict, "kind"));
  std::string html = fmt::format(
      "<div class=panel data-choice=\"{0}\"><h3>{0} <span class=\"badge {1}\">{2}</span></h3>"
      "<p>{3}</p>{4}",
      escape_html(group_name(group)), words.style, words.badge,
      escape_html(capitalised(text_at(verdict, "sentence"))), group_facts(group));
  const Json* row = whole_row(group);
  if (row == nullptr) return html + "<p>Too few chunks for figures.</p></div>";
  html += bars_html(result, *row) + controls_html(group);
  html += "<div class=figures>" + filtered_charts_html(result, group) + shift_chart_html(group) +
          neighbours_chart_html(result, group) + "</div>" + filtered_figures_html(result, group) +
          shift_figures_html(group);
  return html + "</div>";
}

}  // namespace

std::string evidence_html(const RunFiles& run) {
  const Json& groups = list_at(run.result, "groups");
  if (groups.empty()) return {};
  std::string html =
      "<p>A gain may have three causes: the model <b>reads</b> a passage that says something "
      "similar, it <b>copies</b> one that repeats the text, or it is chance. Chunks are sorted by "
      "their <b>overlap</b>, the longest run of tokens they share with a passage; a gain that "
      "lives "
      "only at high overlap is copying, and so is one that vanishes when the chunk borders move by "
      "a few tokens.</p><div class=chooser data-label=\"Text\">";
  for (const Json& group : groups) html += panel_html(run.result, group);
  return html + "</div>";
}

}  // namespace retro
