// Several runs side by side: a table to sort, two of them compared, charts that hold all of them.
#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "retro/core/json.h"
#include "retro/core/progress.h"
#include "retro/report/html_table.h"
#include "retro/report/html_text.h"
#include "retro/report/line_chart.h"

#include "metric_series.h"
#include "page_files.h"
#include "sections.h"
#include "verdict_words.h"

namespace retro {
namespace {

const Json* headline_figure(const RunFiles& run) {
  const Json* all = group_of_all(run.result);
  const Json* row = all == nullptr ? nullptr : whole_row(*all);
  return row == nullptr ? nullptr : find_system(*row, text_at(run.result, "headline"));
}

double bits_of(const RunFiles& run, const std::string& kind) {
  const Json* all = group_of_all(run.result);
  const Json* row = all == nullptr ? nullptr : whole_row(*all);
  const Json* system = row == nullptr ? nullptr : find_kind(*row, kind);
  return system == nullptr ? NAN : number_at(*system, "bits_per_byte");
}

double last_metric(const RunFiles& run, const char* key) {
  double last = NAN;
  for (const Json& line : run.retro_metrics) {
    const double value = number_at(line, key);
    if (std::isfinite(value)) last = value;
  }
  return last;
}

TableCell setting_cell(const RunFiles& run, const std::string& key) {
  const auto found = run.settings.find(key);
  return text_cell(found == run.settings.end() ? "–" : found->second);
}

TableCell seconds_cell(double seconds) {
  if (!std::isfinite(seconds)) return {"–", ""};
  return {format_duration(seconds), fmt::format("{:.0f}", seconds)};
}

std::vector<TableCell> run_row(const RunFiles& run, size_t place) {
  const Json* on = headline_figure(run);
  const Gain gain = on == nullptr ? Gain{NAN, NAN, NAN} : gain_at(*on);
  return {{fmt::format("<button type=button class=show-run data-run={}>{}</button>", place,
                       escape_html(run.name)),
           escape_html(run.name)},
          number_cell(bits_of(run, "baseline"), 4),
          number_cell(bits_of(run, "off"), 4),
          number_cell(on == nullptr ? NAN : number_at(*on, "bits_per_byte"), 4),
          {gain_text(gain), gain.is_known() ? fmt::format("{:.9g}", gain.estimate) : "-1000"},
          setting_cell(run, "model.layers"),
          setting_cell(run, "model.width"),
          setting_cell(run, "train.steps"),
          number_cell(last_metric(run, "tokens") / 1e6, 2),
          seconds_cell(last_metric(run, "seconds"))};
}

std::string runs_table(const std::vector<RunFiles>& runs) {
  HtmlTable table;
  table.caption = "Runs; bits per byte over all held-out text";
  table.is_sortable = true;
  table.columns = {"run",    "baseline", "retrieval off", "retrieval on",   "gain of reading",
                   "layers", "width",    "steps",         "million tokens", "training time"};
  for (size_t i = 0; i < runs.size(); ++i) table.rows.push_back(run_row(runs[i], i));
  return to_html(table);
}

Json group_summary(const Json& result, const Json& group) {
  const Json* row = whole_row(group);
  const Json* on = row == nullptr ? nullptr : find_system(*row, text_at(result, "headline"));
  const Json* reference =
      row == nullptr ? nullptr : find_system(*row, text_at(result, "reference"));
  const Gain gain = on == nullptr ? Gain{NAN, NAN, NAN} : gain_at(*on);
  return {
      {"name", group_name(group)},
      {"chunks", number_at(group, "chunks")},
      {"bytes", number_at(group, "bytes")},
      {"reference", reference == nullptr ? NAN : number_at(*reference, "bits_per_byte")},
      {"on", on == nullptr ? NAN : number_at(*on, "bits_per_byte")},
      {"gain", Json::array({gain.estimate, gain.low, gain.high})},
      {"verdict", verdict_words(text_at(group.value("verdict", Json::object()), "kind")).badge}};
}

/// Where things lie on a machine says nothing about a run.
bool is_place(const std::string& key) {
  return key == "directory" || key == "dependencies" || key.ends_with(".path");
}

/// What the script needs to compare two runs.
Json comparison_data(const std::vector<RunFiles>& runs) {
  Json list = Json::array();
  for (const RunFiles& run : runs) {
    Json groups = Json::array();
    for (const Json& group : list_at(run.result, "groups"))
      groups.push_back(group_summary(run.result, group));
    std::map<std::string, std::string> settings = run.settings;
    std::erase_if(settings, [](const auto& setting) { return is_place(setting.first); });
    list.push_back({{"name", run.name}, {"groups", groups}, {"settings", settings}});
  }
  return list;
}

std::string run_style(size_t place) { return fmt::format("run-{}", place % 8); }

ChartSeries filtered_gain(const RunFiles& run, size_t place) {
  ChartSeries series{run.name, run_style(place), {}};
  const Json* all = group_of_all(run.result);
  if (all == nullptr) return series;
  for (const Json& row : list_at(*all, "filtered")) {
    const Json* on = find_system(row, text_at(run.result, "headline"));
    if (on == nullptr) continue;
    const Gain gain = gain_at(*on);
    series.points.push_back({100 * number_at(row, "alpha"), gain.estimate, gain.low, gain.high});
  }
  return series;
}

std::string overlay_charts(const std::vector<RunFiles>& runs) {
  LineChart loss{"Training loss of RETRO", "million tokens", "nats per token", {}, false, {}};
  LineChart validation{
      "Validation, retrieval on", "million tokens", "bits per byte", {}, false, {}};
  LineChart gain{"Gain of reading by overlap", "overlap at most, %", "bits per byte", {}, true, {}};
  for (size_t i = 0; i < runs.size(); ++i) {
    const std::string style = run_style(i);
    loss.series.push_back(loss_series(runs[i].retro_metrics, runs[i].name, style));
    validation.series.push_back(
        validation_series(runs[i].retro_metrics, "on", runs[i].name, style));
    gain.series.push_back(filtered_gain(runs[i], i));
  }
  std::string html = "<div class=\"figures overlay\">";
  for (LineChart* chart : {&gain, &validation, &loss}) {
    std::erase_if(chart->series, [](const ChartSeries& series) { return series.points.empty(); });
    html += to_svg(*chart);
  }
  return html + "</div>";
}

}  // namespace

std::string runs_html(const std::vector<RunFiles>& runs) {
  if (runs.size() < 2) return {};
  return runs_table(runs) + std::string(kPageCompare) +
         "<script type=\"application/json\" id=compare-data>" +
         escape_script_json(json_line(comparison_data(runs))) + "</script>" + overlay_charts(runs);
}

}  // namespace retro
