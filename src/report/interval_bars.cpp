#include "retro/report/interval_bars.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "retro/report/html_text.h"

namespace retro {
namespace {

constexpr double kTrackWidth = 300, kTrackHeight = 18;

/// Values to pixels of one track. Zero is always inside.
struct Scale {
  double low = 0, high = 0;
  double at(double value) const { return (value - low) / (high - low) * kTrackWidth; }
};

void widen(Scale& scale, double value) {
  if (!std::isfinite(value)) return;
  scale.low = std::min(scale.low, value);
  scale.high = std::max(scale.high, value);
}

Scale scale_of(const std::vector<IntervalBar>& bars) {
  Scale scale;
  for (const IntervalBar& bar : bars) {
    if (!bar.sets_scale) continue;
    for (const double value : {bar.value, bar.low, bar.high}) widen(scale, value);
  }
  if (scale.low == scale.high) scale.high = scale.low + 1;
  const double margin = 0.08 * (scale.high - scale.low);
  return {scale.low - margin, scale.high + margin};
}

std::string whisker(const IntervalBar& bar, const Scale& scale) {
  if (!std::isfinite(bar.low) || !std::isfinite(bar.high) || bar.low == bar.high) return {};
  const double low = std::clamp(scale.at(bar.low), 0.0, kTrackWidth);
  const double high = std::clamp(scale.at(bar.high), 0.0, kTrackWidth);
  if (low == high) return {};
  return fmt::format(R"(<path class=whisker d="M{0:.1f} 9H{1:.1f}M{0:.1f} 5V13M{1:.1f} 5V13"/>)",
                     low, high);
}

std::string track(const IntervalBar& bar, const Scale& scale) {
  std::string svg = fmt::format(
      "<svg class=track viewBox=\"0 0 {:g} {:g}\" preserveAspectRatio=none aria-hidden=true>",
      kTrackWidth, kTrackHeight);
  const double zero = scale.at(0);
  if (std::isfinite(bar.value)) {
    const double end = std::clamp(scale.at(bar.value), 0.0, kTrackWidth);
    svg += fmt::format(R"(<rect class="bar {}" x="{:.1f}" y=2 width="{:.1f}" height=14 />)",
                       escape_html(bar.style), std::min(zero, end), std::abs(end - zero));
    svg += whisker(bar, scale);
    if (scale.at(bar.value) > kTrackWidth)
      svg += fmt::format("<path class=cut d=\"M{:.0f} 0l-6 18M{:.0f} 0l-6 18\"/>", kTrackWidth - 12,
                         kTrackWidth - 6);
  }
  return svg + fmt::format(R"(<path class=zero d="M{0:.1f} 0V18"/></svg>)", zero);
}

}  // namespace

std::string interval_bars_html(const std::vector<IntervalBar>& bars) {
  const Scale scale = scale_of(bars);
  std::string html = "<ul class=bars>";
  for (const IntervalBar& bar : bars) {
    html += fmt::format(
        "<li><span class=name>{}</span>{}<span class=value>{}</span><span "
        "class=change>{}</span></li>",
        escape_html(bar.name), track(bar, scale), escape_html(bar.figure), escape_html(bar.change));
  }
  return html + "</ul>";
}

}  // namespace retro
