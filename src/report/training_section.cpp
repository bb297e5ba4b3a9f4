#include <algorithm>
#include <cmath>

#include "retro/report/line_chart.h"

#include "metric_series.h"
#include "sections.h"

namespace retro {

std::string training_html(const RunFiles& run) {
  if (run.retro_metrics.empty() && run.baseline_metrics.empty()) return {};
  LineChart loss{"Training loss", "million tokens", "nats per token", {}, false, {}};
  loss.series = {loss_series(run.baseline_metrics, "baseline", "baseline"),
                 loss_series(run.retro_metrics, "RETRO", "on")};
  LineChart validation{
      "Validation (lower is better)", "million tokens", "bits per byte", {}, false, {}};
  validation.series = {validation_series(run.baseline_metrics, "off", "baseline", "baseline"),
                       validation_series(run.retro_metrics, "off", "RETRO, retrieval off", "off"),
                       validation_series(run.retro_metrics, "on", "RETRO, retrieval on", "on")};
  for (LineChart* chart : {&loss, &validation}) {
    std::erase_if(chart->series, [](const ChartSeries& series) { return series.points.empty(); });
  }
  return "<p>Baseline and RETRO see the same text in the same order; RETRO also sees the passages "
         "found for it.</p><div class=figures>" +
         to_svg(loss) + to_svg(validation) + "</div>";
}

}  // namespace retro
