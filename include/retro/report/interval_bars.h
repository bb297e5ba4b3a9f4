// Horizontal bars from zero with their intervals, one row a system: names and figures are text, the
// bars inline SVG that stretches with the page.
#pragma once

#include <string>
#include <vector>

namespace retro {

struct IntervalBar {
  std::string name;
  std::string style;   ///< CSS class, as in ChartSeries
  std::string figure;  ///< what stands beside the bar
  std::string change;  ///< the same for `value` with its interval
  double value = 0;
  double low = 0;
  double high = 0;
  bool sets_scale =
      true;  ///< false: a bar beyond the others' scale is cut, with a mark that says so
};

/// Escapes names, styles and figures. Bars without a finite value show their text alone.
std::string interval_bars_html(const std::vector<IntervalBar>& bars);

}  // namespace retro
