#include <cmath>

#include "retro/core/progress.h"
#include "retro/report/html_table.h"

#include "sections.h"

namespace retro {
namespace {

TableCell count_cell(double count) {
  if (!std::isfinite(count)) return {"–", ""};
  return {format_count(static_cast<int64_t>(count)), std::to_string(static_cast<int64_t>(count))};
}

TableCell bits_cell(const Json* row, const std::string& column) {
  const Json* system = row == nullptr ? nullptr : find_system(*row, column);
  return number_cell(system == nullptr ? NAN : number_at(*system, "bits_per_byte"), 4);
}

TableCell gain_cell(const Json* row, const std::string& column) {
  const Json* system = row == nullptr ? nullptr : find_system(*row, column);
  if (system == nullptr) return {"too few chunks", "-1000"};
  const Gain gain = gain_at(*system);
  return {gain_text(gain), std::to_string(gain.estimate)};
}

std::vector<TableCell> group_row(const Json& result, const Json& group) {
  const Json* row = whole_row(group);
  std::vector<TableCell> cells{text_cell(group_name(group)),
                               gain_cell(row, text_at(result, "headline"))};
  for (const std::string& column : unshifted_columns(result))
    cells.push_back(bits_cell(row, column));
  cells.push_back(count_cell(number_at(group, "chunks")));
  cells.push_back(count_cell(number_at(group, "documents")));
  const Json facts = group.value("retrieval", Json::object());
  cells.push_back(number_cell(100 * number_at(facts, "mean_overlap"), 1));
  cells.push_back(number_cell(number_at(facts, "mean_distance"), 3));
  return cells;
}

}  // namespace

std::string figures_html(const RunFiles& run) {
  if (list_at(run.result, "groups").empty()) return {};
  HtmlTable table;
  table.caption = "Bits per byte of held-out text; lower is better";
  table.is_sortable = true;
  const bool is_baseline = kind_of(text_at(run.result, "reference")) == "baseline";
  table.columns = {"text", is_baseline ? "baseline minus on" : "off minus on"};
  for (const std::string& column : unshifted_columns(run.result))
    table.columns.push_back(column_title(column));
  table.columns.insert(table.columns.end(),
                       {"chunks", "documents", "mean overlap, %", "mean distance"});
  for (const Json& group : list_at(run.result, "groups"))
    table.rows.push_back(group_row(run.result, group));
  return to_html(table) +
         "<p class=small>± is half of a 95 % interval over documents. Overlap: the longest run of "
         "tokens that a chunk shares with its nearest passages, as a part of its length. Distance: "
         "squared, between the keys of a chunk and its nearest passage.</p>";
}

}  // namespace retro
