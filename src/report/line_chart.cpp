#include "retro/report/line_chart.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/core.h>

#include "retro/report/html_text.h"

namespace retro {
namespace {

constexpr double kWidth = 460, kHeight = 290;
constexpr double kLeft = 66, kRight = 14, kTop = 12, kBottom = 46;

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void include(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool is_empty() const { return low > high; }
  void widen() {
    const double margin = high > low ? 0.05 * (high - low) : std::max(1e-3, 0.05 * std::abs(high));
    low -= margin;
    high += margin;
  }
};

/// Data to pixels.
struct Frame {
  Range x, y;
  double px(double value) const {
    return kLeft + (value - x.low) / (x.high - x.low) * (kWidth - kLeft - kRight);
  }
  double py(double value) const {
    return kHeight - kBottom - (value - y.low) / (y.high - y.low) * (kHeight - kTop - kBottom);
  }
};

bool is_drawn(const ChartPoint& point) { return std::isfinite(point.x) && std::isfinite(point.y); }

Frame frame_of(const LineChart& chart) {
  Frame frame;
  for (const ChartSeries& series : chart.series) {
    for (const ChartPoint& point : series.points) {
      if (!is_drawn(point)) continue;
      frame.x.include(point.x);
      frame.y.include(point.y);
      if (point.low) frame.y.include(*point.low);
      if (point.high) frame.y.include(*point.high);
    }
  }
  if (frame.x.is_empty()) return frame;
  for (const AxisTick& tick : chart.x_ticks) frame.x.include(tick.at);
  if (chart.has_zero_line) frame.y.include(0.0);
  if (frame.x.low == frame.x.high) frame.x.widen();
  frame.y.widen();
  return frame;
}

std::string tick_text(double value) {
  return fmt::format("{:.6g}", std::abs(value) < 1e-12 ? 0.0 : value);
}

std::vector<AxisTick> x_ticks(const LineChart& chart, const Frame& frame) {
  if (!chart.x_ticks.empty()) return chart.x_ticks;
  std::vector<AxisTick> ticks;
  for (const double tick : axis_ticks(frame.x.low, frame.x.high, 6))
    ticks.push_back({tick, tick_text(tick)});
  return ticks;
}

std::string axes(const LineChart& chart, const Frame& frame) {
  std::string svg;
  for (const double tick : axis_ticks(frame.y.low, frame.y.high, 5)) {
    if (tick < frame.y.low || tick > frame.y.high) continue;
    const double y = frame.py(tick);
    svg += fmt::format(R"(<line class="grid" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>)",
                       kLeft, kWidth - kRight, y, y);
    svg += fmt::format(R"(<text class="tick" x="{:.1f}" y="{:.1f}" text-anchor="end">{}</text>)",
                       kLeft - 6, y + 4, tick_text(tick));
  }
  for (const AxisTick& tick : x_ticks(chart, frame)) {
    if (tick.at < frame.x.low || tick.at > frame.x.high) continue;
    svg += fmt::format(R"(<text class="tick" x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)",
                       frame.px(tick.at), kHeight - kBottom + 18, escape_html(tick.label));
  }
  if (chart.has_zero_line) {
    svg += fmt::format(R"(<line class="zero" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>)",
                       kLeft, kWidth - kRight, frame.py(0), frame.py(0));
  }
  svg += fmt::format(R"(<text class="label" x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)",
                     (kLeft + kWidth - kRight) / 2, kHeight - 7, escape_html(chart.x_label));
  svg += fmt::format(
      R"svg(<text class="label" transform="translate(14 {:.1f}) rotate(-90)" text-anchor="middle">{}</text>)svg",
      (kTop + kHeight - kBottom) / 2, escape_html(chart.y_label));
  return svg;
}

std::string band(const ChartSeries& series, const Frame& frame) {
  std::string upper, lower;
  for (const ChartPoint& point : series.points) {
    if (!is_drawn(point) || !point.low || !point.high) continue;
    upper += fmt::format("{:.1f},{:.1f} ", frame.px(point.x), frame.py(*point.high));
    lower.insert(0, fmt::format("{:.1f},{:.1f} ", frame.px(point.x), frame.py(*point.low)));
  }
  if (upper.empty()) return {};
  return fmt::format(R"(<polygon class="band {}" points="{}{}"/>)", escape_html(series.style),
                     upper, lower);
}

constexpr size_t kMostDots = 40;

std::string line(const ChartSeries& series, const Frame& frame) {
  std::string points, dots;
  for (const ChartPoint& point : series.points) {
    if (!is_drawn(point)) continue;
    const double x = frame.px(point.x), y = frame.py(point.y);
    points += fmt::format("{:.1f},{:.1f} ", x, y);
    if (series.points.size() <= kMostDots) {
      dots += fmt::format(
          R"(<circle class="dot {}" cx="{:.1f}" cy="{:.1f}" r="3"><title>{}: {:.4g} at {:.4g}</title></circle>)",
          escape_html(series.style), x, y, escape_html(series.name), point.y, point.x);
    }
  }
  return fmt::format(R"(<polyline class="line {}" points="{}"/>{})", escape_html(series.style),
                     points, dots);
}

/// What a screen reader says: each line's two ends.
std::string spoken_summary(const LineChart& chart) {
  std::string text = chart.title + ".";
  for (const ChartSeries& series : chart.series) {
    const auto first = std::find_if(series.points.begin(), series.points.end(), is_drawn);
    if (first == series.points.end()) continue;
    const auto last = std::find_if(series.points.rbegin(), series.points.rend(), is_drawn);
    text += fmt::format(" {}: {:.4g} at the left, {:.4g} at the right.", series.name, first->y,
                        last->y);
  }
  return text;
}

std::string legend(const LineChart& chart) {
  std::string html = R"(<div class="legend">)";
  for (const ChartSeries& series : chart.series) {
    html += fmt::format(R"(<span><i class="swatch {}"></i>{}</span>)", escape_html(series.style),
                        escape_html(series.name));
  }
  return html + "</div>";
}

}  // namespace

std::vector<double> axis_ticks(double low, double high, int count) {
  if (!(high > low) || count < 1) return {low};
  const double raw = (high - low) / count;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  const double scaled = raw / power;
  constexpr double kRounding = 1e-9;  // 0.1 / 0.01 is not quite 10
  const double multiple = scaled <= 1 + kRounding   ? 1
                          : scaled <= 2 + kRounding ? 2
                          : scaled <= 5 + kRounding ? 5
                                                    : 10;
  const double step = power * multiple;
  std::vector<double> ticks;
  const double last = std::ceil(high / step - kRounding);
  for (double index = std::floor(low / step + kRounding); index <= last; ++index)
    ticks.push_back(index * step);
  return ticks;
}

std::string to_svg(const LineChart& chart) {
  const std::string title = escape_html(chart.title);
  const Frame frame = frame_of(chart);
  if (frame.x.is_empty())
    return fmt::format("<figure><figcaption>{}</figcaption><p>no data</p></figure>", title);
  std::string svg = fmt::format(R"(<svg viewBox="0 0 {} {}" role="img" aria-label="{}">)", kWidth,
                                kHeight, escape_html(spoken_summary(chart)));
  svg += axes(chart, frame);
  for (const ChartSeries& series : chart.series) svg += band(series, frame);
  for (const ChartSeries& series : chart.series) svg += line(series, frame);
  return fmt::format("<figure><figcaption>{}</figcaption>{}</svg>{}</figure>", title, svg,
                     legend(chart));
}

}  // namespace retro
