// Files eval/*.table.json: any result of the evaluation that is a table.
#include <cmath>

#include <fmt/core.h>

#include "retro/report/html_table.h"
#include "retro/report/html_text.h"

#include "sections.h"

namespace retro {
namespace {

/// A number, a text, null, or {"estimate", "low", "high"}.
TableCell value_cell(const Json& value, int decimals) {
  if (value.is_string()) return text_cell(value.get<std::string>());
  if (value.is_number_integer()) return number_cell(value.get<double>(), 0);
  if (value.is_number()) return number_cell(value.get<double>(), decimals);
  if (!value.is_object()) return {"–", ""};
  const double estimate = number_at(value, "estimate");
  const double half_width = (number_at(value, "high") - number_at(value, "low")) / 2;
  TableCell cell = number_cell(estimate, decimals);
  if (std::isfinite(half_width)) cell.html += fmt::format(" ± {:.{}f}", half_width, decimals);
  return cell;
}

std::string table_html(const Json& file) {
  HtmlTable table;
  table.caption = text_at(file, "title");
  table.is_sortable = true;
  const int decimals = file.value("decimals", 4);
  for (const Json& column : list_at(file, "columns"))
    table.columns.push_back(column.is_string() ? column.get<std::string>() : "");
  for (const Json& row : list_at(file, "rows")) {
    std::vector<TableCell> cells;
    for (const Json& value : row) cells.push_back(value_cell(value, decimals));
    table.rows.push_back(std::move(cells));
  }
  std::string html = to_html(table);
  const std::string about = text_at(file, "about");
  return about.empty() ? html : "<p>" + escape_html(about) + "</p>" + html;
}

}  // namespace

std::string result_tables_html(const RunFiles& run) {
  std::string html;
  for (const Json& file : run.tables) html += table_html(file);
  return html;
}

}  // namespace retro
