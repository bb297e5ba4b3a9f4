#include <algorithm>
#include <cstdlib>

#include <fmt/core.h>

#include "retro/report/line_chart.h"

#include "sections.h"

namespace retro {
namespace {

constexpr size_t kFewestPoints = 3;

/// "on.k10.s0" -> 10
int number_of_neighbours(const std::string& column) {
  const size_t k = column.find(".k");
  return k == std::string::npos ? 0 : std::atoi(column.c_str() + k + 2);
}

}  // namespace

std::string neighbours_chart_html(const Json& result, const Json& group) {
  const Json* row = whole_row(group);
  std::vector<std::string> columns;
  for (const std::string& column : unshifted_columns(result)) {
    if (kind_of(column) == "on") columns.push_back(column);
  }
  if (row == nullptr || columns.size() < kFewestPoints) return {};
  std::sort(columns.begin(), columns.end(), [](const std::string& a, const std::string& b) {
    return number_of_neighbours(a) < number_of_neighbours(b);
  });
  LineChart chart{"Gain by number of passages",
                  "passages read for each chunk, k",
                  "gain, bits per byte",
                  {{"retrieval on", "on", {}}},
                  true,
                  {}};
  for (const std::string& column : columns) {
    const Json* system = find_system(*row, column);
    if (system == nullptr) continue;
    const auto place = static_cast<double>(chart.x_ticks.size());
    const Gain gain = gain_at(*system);
    chart.x_ticks.push_back({place, fmt::format("{}", number_of_neighbours(column))});
    chart.series.front().points.push_back({place, gain.estimate, gain.low, gain.high});
  }
  return to_svg(chart);
}

}  // namespace retro
