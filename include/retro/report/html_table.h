// A table whose columns can be sorted by the page's script.
#pragma once

#include <string>
#include <vector>

namespace retro {

/// `html` is shown as it is; `order` is what sorting compares (a number, or text), empty: the text
/// shown.
struct TableCell {
  std::string html;
  std::string order;
};

struct HtmlTable {
  std::string caption;               ///< for screen readers and as the visible caption
  std::vector<std::string> columns;  ///< the first one heads the rows
  std::vector<std::vector<TableCell>> rows;
  bool is_sortable = false;
};

/// A cell that shows `value` with `decimals` digits and sorts by it; "–" where it is not finite.
TableCell number_cell(double value, int decimals);
/// Escaped text.
TableCell text_cell(const std::string& text);
/// The first cell of a row is its header. Caption and columns are escaped.
std::string to_html(const HtmlTable& table);

}  // namespace retro
