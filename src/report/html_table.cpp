#include "retro/report/html_table.h"

#include <cmath>

#include <fmt/core.h>

#include "retro/report/html_text.h"

namespace retro {
namespace {

std::string head_cell(const std::string& column, bool is_sortable) {
  const std::string name = escape_html(column);
  if (!is_sortable) return "<th scope=col>" + name + "</th>";
  return fmt::format("<th scope=col><button type=button class=sort>{}</button></th>", name);
}

std::string body_cell(const TableCell& cell, bool is_header) {
  const std::string order =
      cell.order.empty() ? "" : fmt::format(" data-order=\"{}\"", escape_html(cell.order));
  return is_header ? fmt::format("<th scope=row{}>{}</th>", order, cell.html)
                   : fmt::format("<td{}>{}</td>", order, cell.html);
}

}  // namespace

TableCell number_cell(double value, int decimals) {
  if (!std::isfinite(value)) return {"–", ""};
  return {fmt::format("{:.{}f}", value, decimals), fmt::format("{:.9g}", value)};
}

TableCell text_cell(const std::string& text) { return {escape_html(text), ""}; }

std::string to_html(const HtmlTable& table) {
  // So many columns fit a page only with heads of several lines.
  constexpr size_t kManyColumns = 8;
  std::string classes = table.columns.size() >= kManyColumns ? "many" : "";
  if (table.is_sortable) classes += classes.empty() ? "sortable" : " sortable";
  std::string html = fmt::format(
      "<div class=wide tabindex=0 role=region aria-label=\"{0}\"><table{1}><caption>{0}</caption>"
      "<thead><tr>",
      escape_html(table.caption), classes.empty() ? "" : " class=\"" + classes + "\"");
  for (const std::string& column : table.columns) html += head_cell(column, table.is_sortable);
  html += "</tr></thead><tbody>";
  for (const auto& row : table.rows) {
    html += "<tr>";
    for (size_t i = 0; i < row.size(); ++i) html += body_cell(row[i], i == 0);
    html += "</tr>";
  }
  return html + "</tbody></table></div>";
}

}  // namespace retro
