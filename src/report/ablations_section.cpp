// table.json of `retro ablate`: what each part of the model is worth, over seeds, beside the paper.
#include <cmath>

#include <fmt/core.h>

#include "retro/report/html_table.h"
#include "retro/report/html_text.h"
#include "retro/report/interval_bars.h"

#include "sections.h"

namespace retro {
namespace {

TableCell spread_cell(double mean, double spread, bool has_sign) {
  if (!std::isfinite(mean)) return {"–", ""};
  const std::string text = has_sign ? signed_text(mean) : fmt::format("{:.4f}", mean);
  const std::string width = std::isfinite(spread) ? fmt::format(" ± {:.4f}", spread) : "";
  return {text + width, fmt::format("{:.9g}", mean)};
}

std::vector<TableCell> row_cells(const Json& row) {
  const auto seeds = static_cast<double>(list_at(row, "bits_per_byte").size());
  const double paper_difference = number_at(row, "paper_difference");
  return {text_cell(text_at(row, "name")),
          number_cell(seeds, 0),
          spread_cell(number_at(row, "mean"), number_at(row, "spread"), false),
          spread_cell(number_at(row, "difference"), number_at(row, "difference_spread"), true),
          number_cell(number_at(row, "paper"), 3),
          spread_cell(paper_difference, NAN, true)};
}

/// Bars to the right: dearer than the first row.
std::string difference_bars(const Json& rows) {
  std::vector<IntervalBar> bars;
  for (const Json& row : rows) {
    const double difference = number_at(row, "difference");
    const double spread = number_at(row, "difference_spread");
    const double width = std::isfinite(spread) ? spread : 0;
    bars.push_back({text_at(row, "name"), "on", fmt::format("{:.4f}", number_at(row, "mean")),
                    std::isfinite(difference) ? signed_text(difference) : "–", difference,
                    difference - width, difference + width, true});
  }
  return "<figure class=whole><figcaption>Difference to the first row, bits per byte: to the right "
         "is worse</figcaption>" +
         interval_bars_html(bars) + "</figure>";
}

}  // namespace

std::string ablations_html(const RunFiles& run) {
  const Json& rows = list_at(run.ablations, "rows");
  if (rows.empty()) return {};
  HtmlTable table;
  const std::string unit = text_at(run.ablations, "paper_unit");
  table.caption = text_at(run.ablations, "title");
  table.is_sortable = true;
  table.columns = {"row",
                   "seeds",
                   "bits per byte",
                   "difference",
                   "paper" + (unit.empty() ? "" : " (" + unit + ")"),
                   "paper's difference"};
  for (const Json& row : rows) table.rows.push_back(row_cells(row));
  return "<p>Mean over seeds ± their standard deviation; differences are taken seed by seed.</p>" +
         difference_bars(rows) + to_html(table);
}

}  // namespace retro
