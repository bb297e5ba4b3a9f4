#include <map>

#include <fmt/core.h>

#include "retro/report/html_table.h"
#include "retro/report/html_text.h"
#include "retro/report/line_chart.h"

#include "sections.h"

namespace retro {
namespace {

std::string percent(double share) { return fmt::format("{:g} %", 100 * share); }

bool is_measured(const Json& row) { return !row.value("is_too_few", false); }

/// The systems of the curves: reference, off and the headline, each once.
std::vector<std::string> curve_columns(const Json& result) {
  std::vector<std::string> columns{text_at(result, "reference")};
  for (const std::string& column : {std::string("off.k0.s0"), text_at(result, "headline")}) {
    if (column != columns.front()) columns.push_back(column);
  }
  return columns;
}

ChartSeries curve(const Json& group, const std::string& column, bool is_gain) {
  ChartSeries series{column_title(column), kind_of(column), {}};
  for (const Json& row : list_at(group, "filtered")) {
    const Json* system = is_measured(row) ? find_system(row, column) : nullptr;
    if (system == nullptr) continue;
    const Gain gain = gain_at(*system);
    if (is_gain) {
      series.points.push_back({number_at(row, "alpha"), gain.estimate, gain.low, gain.high});
    } else {
      series.points.push_back(
          {number_at(row, "alpha"), number_at(*system, "bits_per_byte"), {}, {}});
    }
  }
  return series;
}

std::vector<AxisTick> alpha_ticks(const Json& group) {
  std::vector<AxisTick> ticks;
  for (const Json& row : list_at(group, "filtered"))
    ticks.push_back({number_at(row, "alpha"), percent(number_at(row, "alpha"))});
  return ticks;
}

std::string filtered_table(const Json& result, const Json& group) {
  HtmlTable table;
  table.caption = "Filtered bits per byte, " + group_name(group);
  table.columns = {"overlap at most", "chunks"};
  for (const std::string& column : unshifted_columns(result))
    table.columns.push_back(column_title(column));
  table.columns.push_back("gain");
  for (const Json& row : list_at(group, "filtered")) {
    std::vector<TableCell> cells{text_cell(percent(number_at(row, "alpha"))),
                                 number_cell(number_at(row, "chunks"), 0)};
    for (const std::string& column : unshifted_columns(result)) {
      const Json* system = find_system(row, column);
      cells.push_back(system == nullptr ? text_cell("too few")
                                        : number_cell(number_at(*system, "bits_per_byte"), 4));
    }
    const Json* on = find_system(row, text_at(result, "headline"));
    cells.push_back(text_cell(on == nullptr ? "too few" : gain_text(gain_at(*on))));
    table.rows.push_back(std::move(cells));
  }
  return to_html(table);
}

/// Shifts stand at equal distances: 0, 1, 2, 4, ... would crowd at the left.
std::map<double, double> shift_places(const Json& group) {
  std::map<double, double> places;
  for (const Json& row : list_at(group, "shifts")) places[number_at(row, "shift")] = 0;
  double place = 0;
  for (auto& [shift, at] : places) at = place++;
  return places;
}

std::string shift_table(const Json& group) {
  HtmlTable table;
  table.caption = "Shift test, " + group_name(group);
  table.columns = {"borders moved by", "overlap at most", "chunks", "without", "on", "gain"};
  for (const Json& row : list_at(group, "shifts")) {
    const bool is_there = is_measured(row);
    table.rows.push_back(
        {number_cell(number_at(row, "shift"), 0), text_cell(percent(number_at(row, "alpha"))),
         number_cell(number_at(row, "chunks"), 0),
         is_there ? number_cell(number_at(row, "reference_bits_per_byte"), 4)
                  : text_cell("too few"),
         is_there ? number_cell(number_at(row, "on_bits_per_byte"), 4) : text_cell("too few"),
         text_cell(is_there ? gain_text(gain_at(row)) : "too few")});
  }
  return to_html(table);
}

std::string details(const std::string& summary, const std::string& html) {
  return fmt::format("<details><summary>{}</summary>{}</details>", summary, html);
}

}  // namespace

std::string filtered_charts_html(const Json& result, const Json& group) {
  if (list_at(group, "filtered").size() < 2) return {};
  const std::string reference = column_title(text_at(result, "reference"));
  LineChart gain{"Gain by overlap: what is left without copies",
                 "chunks that share at most this much with a passage",
                 "gain over " + reference + ", bits per byte",
                 {curve(group, text_at(result, "headline"), true)},
                 true,
                 alpha_ticks(group)};
  LineChart bits{"Filtered bits per byte (lower is better)",
                 "chunks that share at most this much with a passage",
                 "bits per byte",
                 {},
                 false,
                 alpha_ticks(group)};
  for (const std::string& column : curve_columns(result)) {
    ChartSeries series = curve(group, column, false);
    if (!series.points.empty()) bits.series.push_back(std::move(series));
  }
  return to_svg(gain) + to_svg(bits);
}

std::string shift_chart_html(const Json& group) {
  if (list_at(group, "shifts").empty()) return {};
  LineChart chart{"Shift test: does the gain survive moved borders?",
                  "tokens by which the chunk borders are moved",
                  "gain, bits per byte",
                  {},
                  true,
                  {}};
  const auto places = shift_places(group);
  std::map<double, ChartSeries> by_alpha;
  for (const Json& row : list_at(group, "shifts")) {
    if (!is_measured(row)) continue;
    const double alpha = number_at(row, "alpha");
    ChartSeries& series = by_alpha[alpha];
    series.name = alpha >= 1 ? "all chunks" : "overlap at most " + percent(alpha);
    series.style = alpha >= 1 ? "all" : "on";
    const Gain gain = gain_at(row);
    series.points.push_back(
        {places.at(number_at(row, "shift")), gain.estimate, gain.low, gain.high});
  }
  for (auto& [alpha, series] : by_alpha) chart.series.push_back(std::move(series));
  for (const auto& [shift, at] : places) chart.x_ticks.push_back({at, fmt::format("{:g}", shift)});
  return to_svg(chart);
}

std::string filtered_figures_html(const Json& result, const Json& group) {
  return details("Figures of the filtered curve", filtered_table(result, group));
}

std::string shift_figures_html(const Json& group) {
  if (list_at(group, "shifts").empty()) return {};
  return details("Figures of the shift test", shift_table(group));
}

}  // namespace retro
