#include "training_curves.h"

#include <sstream>
#include <vector>

#include <nlohmann/json.hpp>

#include "retro/core/file_system.h"
#include "retro/report/line_chart.h"

namespace retro {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostPoints = 400;

std::vector<Json> read_lines(const std::filesystem::path& path) {
  std::vector<Json> lines;
  if (!std::filesystem::exists(path)) return lines;
  std::istringstream text(read_file(path));
  for (std::string line; std::getline(text, line);) {
    Json parsed = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (parsed.is_object()) lines.push_back(std::move(parsed));
  }
  return lines;
}

/// Means of neighbouring points, so that a long run stays a readable line.
std::vector<ChartPoint> thinned(const std::vector<ChartPoint>& points) {
  const size_t stride = points.size() / kMostPoints + 1;
  std::vector<ChartPoint> result;
  for (size_t begin = 0; begin < points.size(); begin += stride) {
    const size_t end = std::min(points.size(), begin + stride);
    ChartPoint mean;
    for (size_t i = begin; i < end; ++i) {
      mean.x += points[i].x / static_cast<double>(end - begin);
      mean.y += points[i].y / static_cast<double>(end - begin);
    }
    result.push_back(mean);
  }
  return result;
}

ChartSeries loss_series(const std::vector<Json>& lines, const std::string& name,
                        const std::string& style) {
  ChartSeries series{name, style, {}};
  for (const Json& line : lines) {
    if (line.value("kind", "") != "train" || !line["loss"].is_number()) continue;
    series.points.push_back({line.value("tokens", 0.0) / 1e6, line["loss"].get<double>(), {}, {}});
  }
  series.points = thinned(series.points);
  return series;
}

ChartSeries validation_series(const std::vector<Json>& lines, const std::string& key,
                              const std::string& name, const std::string& style) {
  ChartSeries series{name, style, {}};
  for (const Json& line : lines) {
    if (line.value("kind", "") != "validation" || !line.contains(key)) continue;
    const Json& bits = line[key]["bits_per_byte"];
    if (bits.is_number())
      series.points.push_back({line.value("tokens", 0.0) / 1e6, bits.get<double>(), {}, {}});
  }
  return series;
}

}  // namespace

std::string training_html(const std::filesystem::path& retro_metrics,
                          const std::filesystem::path& baseline_metrics) {
  const auto retro = read_lines(retro_metrics);
  const auto baseline = read_lines(baseline_metrics);
  LineChart loss{"Training loss", "million tokens", "nats per token", {}, false};
  loss.series = {loss_series(baseline, "baseline", "baseline"), loss_series(retro, "RETRO", "on")};
  LineChart validation{"Validation", "million tokens", "bits per byte", {}, false};
  validation.series = {validation_series(baseline, "off", "baseline", "baseline"),
                       validation_series(retro, "off", "RETRO, retrieval off", "off"),
                       validation_series(retro, "on", "RETRO, retrieval on", "on")};
  return "<h2>Training</h2><div class=figures>" + to_svg(loss) + to_svg(validation) + "</div>";
}

}  // namespace retro
