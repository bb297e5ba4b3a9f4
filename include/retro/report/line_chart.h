// A line chart as inline SVG: no script, no font file, colours from the page's style sheet.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace retro {

struct ChartPoint {
  double x = 0;
  double y = 0;
  std::optional<double> low;  ///< interval, drawn as a band
  std::optional<double> high;
};

struct ChartSeries {
  std::string name;
  std::string style;  ///< CSS class of the line ("baseline", "off", "on", ...), escaped
  std::vector<ChartPoint> points;
};

struct AxisTick {
  double at = 0;
  std::string label;
};

struct LineChart {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<ChartSeries> series;
  bool has_zero_line = false;
  std::vector<AxisTick> x_ticks;  ///< empty: round numbers
};

/// Ticks at 1, 2 or 5 times a power of ten, about `count` of them, covering [low, high].
std::vector<double> axis_ticks(double low, double high, int count);

/// Points that are not finite are left out; an empty chart says "no data". Titles and names are
/// escaped. The label for screen readers is the title and the two ends of each line.
std::string to_svg(const LineChart& chart);

}  // namespace retro
