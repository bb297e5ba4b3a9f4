// eval/knn.json: a nearest-neighbour model over the hidden states, beside and on top of retrieval.
#include <cmath>

#include <fmt/core.h>

#include "retro/core/progress.h"
#include "retro/report/html_table.h"
#include "retro/report/html_text.h"
#include "retro/report/interval_bars.h"

#include "sections.h"

namespace retro {
namespace {

std::string system_name(const Json& system) {
  const std::string distances = text_at(system, "distances");
  const bool has_none = distances.empty() || distances == "none";
  return text_at(system, "name") + (has_none ? "" : ", " + distances + " distances");
}

std::string style_of(const Json& system) {
  const std::string name = text_at(system, "name");
  if (name == "baseline") return "baseline";
  if (name == "RETRO") return "on";
  return name.starts_with("RETRO") ? "counterpart_removed" : "random";
}

bool is_tuned(const Json& systems) {
  return std::isfinite(number_at(systems.front(), "validation_bits_per_byte"));
}

std::string tuned_table(const Json& systems, const std::string& split) {
  HtmlTable table;
  table.caption = is_tuned(systems) ? "Tuned on validation text" : "Not tuned";
  table.columns = {"system", "lambda", "scale of distances", "tuned: validation",
                   "scored: " + (split.empty() ? "test" : split)};
  for (const Json& system : systems) {
    table.rows.push_back({text_cell(system_name(system)),
                          number_cell(number_at(system, "lambda"), 3),
                          number_cell(number_at(system, "scale"), 5),
                          number_cell(number_at(system, "validation_bits_per_byte"), 4),
                          number_cell(number_at(system, "bits_per_byte"), 4)});
  }
  return to_html(table);
}

/// What tuning was worth; empty where it was as it should be.
std::string tuning_warning(const Json& systems, const std::string& split) {
  if (split == "validation")
    return "<p class=warning>The mixture was tuned on the very text that is scored here, so that "
           "the figures of kNN-LM flatter it.</p>";
  if (is_tuned(systems)) return {};
  return "<p class=warning>There was no validation text to tune the mixture on: nothing is mixed "
         "in.</p>";
}

}  // namespace

std::string knn_html(const RunFiles& run) {
  const Json& systems = list_at(run.knn, "systems");
  if (systems.empty()) return {};
  std::vector<IntervalBar> bars;
  for (const Json& system : systems) {
    const Gain gain = gain_at(system);
    const bool is_first = bars.empty();
    bars.push_back({system_name(system), style_of(system),
                    fmt::format("{:.4f}", number_at(system, "bits_per_byte")),
                    is_first ? "" : gain_text(gain), is_first ? 0 : gain.estimate, gain.low,
                    gain.high, true});
  }
  const std::string split = text_at(run.knn, "split");
  const double entries = number_at(run.knn, "entries");
  return fmt::format(
      "<p>kNN-LM looks up the model's own state among {} states of the database's text and mixes "
      "in the tokens that followed them{}.</p>{}"
      "<figure class=whole><figcaption>Bits per byte, and the gain over {}: to the right is "
      "better</figcaption>{}</figure>{}",
      std::isfinite(entries) ? format_count(static_cast<int64_t>(entries)) : "the",
      is_tuned(systems) ? "; the mixture is tuned on validation text" : "",
      tuning_warning(systems, split), escape_html(text_at(systems.front(), "name")),
      interval_bars_html(bars), tuned_table(systems, split));
}

}  // namespace retro
