#include "metric_series.h"

#include <algorithm>
#include <cmath>

namespace retro {
namespace {

constexpr size_t kMostPoints = 300;
constexpr double kMillion = 1e6;

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

}  // namespace

ChartSeries loss_series(const std::vector<Json>& metrics, const std::string& name,
                        const std::string& style) {
  ChartSeries series{name, style, {}};
  for (const Json& line : metrics) {
    const double loss = number_at(line, "loss");
    if (text_at(line, "kind") == "train" && std::isfinite(loss))
      series.points.push_back({number_at(line, "tokens") / kMillion, loss, {}, {}});
  }
  series.points = thinned(series.points);
  return series;
}

ChartSeries validation_series(const std::vector<Json>& metrics, const char* key,
                              const std::string& name, const std::string& style) {
  ChartSeries series{name, style, {}};
  for (const Json& line : metrics) {
    if (text_at(line, "kind") != "validation" || !line.contains(key)) continue;
    const double bits = number_at(line[key], "bits_per_byte");
    if (std::isfinite(bits))
      series.points.push_back({number_at(line, "tokens") / kMillion, bits, {}, {}});
  }
  return series;
}

}  // namespace retro
