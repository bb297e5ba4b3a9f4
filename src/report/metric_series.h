// Lines of a chart from the records of metrics.jsonl.
#pragma once

#include <string>
#include <vector>

#include "retro/report/line_chart.h"

#include "result_view.h"

namespace retro {

/// Training loss over millions of tokens; a long run is thinned to means of neighbouring records.
ChartSeries loss_series(const std::vector<Json>& metrics, const std::string& name,
                        const std::string& style);
/// Validation bits per byte; `key` is "off" or "on".
ChartSeries validation_series(const std::vector<Json>& metrics, const char* key,
                              const std::string& name, const std::string& style);

}  // namespace retro
