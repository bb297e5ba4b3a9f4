// eval/breakdown.json: where in the text, with which windows and how much of the database a gain
// is.
#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/core.h>

#include "retro/report/html_table.h"
#include "retro/report/html_text.h"
#include "retro/report/line_chart.h"

#include "sections.h"

namespace retro {
namespace {

/// How the rows of a list are drawn and named.
struct Axis {
  std::string title, x_label;
  std::string (*label)(const Json& row);
};

/// Both ends belong to the part; -1: no end.
std::string range_label(const Json& part) {
  const double from = number_at(part, "from"), to = number_at(part, "to");
  if (to < 0) return fmt::format("{:g}+", from);
  return to == from ? fmt::format("{:g}", from) : fmt::format("{:g}–{:g}", from, to);
}

std::string share_label(const Json& row) {
  return fmt::format("{:g} %", 100 * number_at(row, "share"));
}

const Json* on_system(const Json& row) {
  for (const Json& system : list_at(row, "systems")) {
    if (kind_of(text_at(system, "column")) == "on") return &system;
  }
  return nullptr;
}

bool is_too_few(const Json& row) { return row.value("is_too_few", false); }

std::string gain_chart(const Json& rows, const Axis& axis) {
  LineChart chart{
      axis.title, axis.x_label, "gain, bits per byte", {{"retrieval on", "on", {}}}, true, {}};
  double place = 0;
  for (const Json& row : rows) {
    const Json* on = is_too_few(row) ? nullptr : on_system(row);
    chart.x_ticks.push_back({place, axis.label(row)});
    if (on != nullptr) {
      const Gain gain = gain_at(*on);
      chart.series.front().points.push_back({place, gain.estimate, gain.low, gain.high});
    }
    ++place;
  }
  return chart.series.front().points.empty() ? "" : to_svg(chart);
}

/// Those of the first row that has any.
const Json& systems_of(const Json& rows) {
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [](const Json& row) { return !list_at(row, "systems").empty(); });
  return list_at(found == rows.end() ? rows.front() : *found, "systems");
}

void add_figures(const Json& systems, std::vector<TableCell>& cells) {
  for (const Json& system : systems) {
    cells.push_back(number_cell(number_at(system, "bits_per_byte"), 4));
    cells.push_back(text_cell(gain_text(gain_at(system))));
  }
}

std::string systems_table(const Json& rows, const Axis& axis) {
  HtmlTable table;
  table.caption = axis.title;
  table.columns = {axis.x_label};
  for (const Json& system : systems_of(rows)) {
    const std::string title = column_title(text_at(system, "column"));
    table.columns.insert(table.columns.end(), {title, "gain of " + title});
  }
  for (const Json& row : rows) {
    std::vector<TableCell> cells{text_cell(axis.label(row))};
    if (is_too_few(row)) {
      cells.resize(table.columns.size(), text_cell("too few"));
    } else {
      add_figures(list_at(row, "systems"), cells);
    }
    table.rows.push_back(std::move(cells));
  }
  return "<details><summary>" + escape_html(axis.title) + ": figures</summary>" + to_html(table) +
         "</details>";
}

/// Those of one source.
Json rows_of(const Json& list, const std::string& source) {
  Json rows = Json::array();
  for (const Json& row : list) {
    if (text_at(row, "source") == source) rows.push_back(row);
  }
  return rows;
}

std::string partition_title(const std::string& name) {
  if (name == "document_length") return "By length of the document";
  if (name == "position_in_document") return "By place in the document";
  if (name == "position_in_chunk") return "By place in the chunk";
  return name;
}

std::string words_html(const Json& words) {
  HtmlTable table;
  table.caption = "Word-level perplexity";
  table.columns = {"system", "perplexity", "words"};
  for (const Json& row : words) {
    for (const Json& system : list_at(row, "systems")) {
      table.rows.push_back({text_cell(column_title(text_at(system, "column"))),
                            number_cell(number_at(system, "perplexity"), 2),
                            number_cell(number_at(row, "words"), 0)});
    }
  }
  return table.rows.empty() ? "" : to_html(table);
}

std::string panel_html(const Json& breakdown, const std::string& source) {
  std::string charts, tables;
  const auto add = [&](const Json& rows, const Axis& axis) {
    if (rows.empty()) return;
    charts += gain_chart(rows, axis);
    tables += systems_table(rows, axis);
  };
  for (const Json& partition : rows_of(list_at(breakdown, "partitions"), source)) {
    add(list_at(partition, "parts"),
        {partition_title(text_at(partition, "name")), text_at(partition, "unit"), range_label});
  }
  add(rows_of(list_at(breakdown, "database"), source),
      {"By size of the database", "share of its documents", share_label});
  add(rows_of(list_at(breakdown, "windows"), source),
      {"By overlap of the windows", "share of a window that was scored before", share_label});
  const std::string name = source == "all" ? "all text" : source;
  return "<div class=panel data-choice=\"" + escape_html(name) + "\"><h3>" + escape_html(name) +
         "</h3><div class=figures>" + charts + "</div>" + tables +
         words_html(rows_of(list_at(breakdown, "words"), source)) + "</div>";
}

}  // namespace

std::string breakdown_html(const RunFiles& run) {
  std::vector<std::string> sources;
  std::set<std::string> seen;
  for (const char* list : {"partitions", "database", "windows", "words"}) {
    for (const Json& row : list_at(run.breakdown, list)) {
      if (seen.insert(text_at(row, "source")).second) sources.push_back(text_at(row, "source"));
    }
  }
  if (sources.empty()) return {};
  std::string html =
      "<p>The gain of reading over the reference, for parts of the text and for other ways to "
      "evaluate "
      "it. Every scored token is in exactly one part.</p><div class=chooser data-label=Text>";
  for (const std::string& source : sources) html += panel_html(run.breakdown, source);
  return html + "</div>";
}

}  // namespace retro
