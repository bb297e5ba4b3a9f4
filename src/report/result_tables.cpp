#include "result_tables.h"

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

#include <fmt/core.h>

#include "retro/report/html_text.h"
#include "retro/report/line_chart.h"

namespace retro {
namespace {

using Json = nlohmann::json;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double number(const Json& object, const char* key) {
  return object.contains(key) && object[key].is_number() ? object[key].get<double>() : kNaN;
}

std::string text(const Json& object, const char* key) { return object.value(key, std::string{}); }

std::string group_name(const Json& group) {
  const std::string part = text(group, "part");
  return part.empty() ? text(group, "source") : text(group, "source") + ": " + part;
}

/// "on.k2.s0" -> "on".
std::string kind_of(const std::string& column) { return column.substr(0, column.find('.')); }

const Json* find_system(const Json& row, const std::string& column) {
  for (const Json& system : row["systems"]) {
    if (text(system, "column") == column) return &system;
  }
  return nullptr;
}

/// The columns that stand beside one another: the unshifted ones, in the result's order.
std::vector<std::string> unshifted_columns(const Json& result) {
  std::vector<std::string> columns;
  for (const Json& column : result["columns"]) {
    const auto name = column.get<std::string>();
    if (name.ends_with(".s0")) columns.push_back(name);
  }
  return columns;
}

std::string title_of(const std::string& column, const Json& result) {
  static const std::map<std::string, std::string> titles{
      {"baseline", "baseline"},        {"off", "retrieval off"},
      {"on", "retrieval on"},          {"random", "random neighbours"},
      {"leaked", "leaked (cheating)"}, {"counterpart_removed", "counterpart removed"}};
  const auto found = titles.find(kind_of(column));
  const std::string title = found == titles.end() ? column : found->second;
  if (kind_of(column) != "on" || column == text(result, "headline")) return title;
  return title + ", " +
         column.substr(column.find('.') + 1, column.rfind('.') - column.find('.') - 1);
}

std::string interval_text(const Json& gain) {
  const double estimate = number(gain, "estimate");
  const double half = (number(gain, "high") - number(gain, "low")) / 2;
  return fmt::format("{:+.4f} ± {:.4f}", estimate, half);
}

std::string bar(double value, double largest, const std::string& style) {
  return fmt::format(R"(<span class="bar {}" style="width:{:.1f}%"></span>)", style,
                     100 * value / largest);
}

double largest_bits(const Json& row, const std::vector<std::string>& columns) {
  double largest = 1e-9;
  for (const std::string& column : columns) {
    const Json* system = find_system(row, column);
    if (system != nullptr) largest = std::max(largest, number(*system, "bits_per_byte"));
  }
  return largest;
}

std::string bars_html(const Json& result, const Json& group) {
  const Json& row = group["filtered"].back();
  if (row.value("is_too_few", false)) return {};
  const auto columns = unshifted_columns(result);
  const double largest = largest_bits(row, columns);
  std::string html = fmt::format(
      "<figure><figcaption>{}: bits per byte (shorter is better)</figcaption><div class=bars>",
      escape_html(group_name(group)));
  for (const std::string& column : columns) {
    const Json* system = find_system(row, column);
    if (system == nullptr) continue;
    const double bits = number(*system, "bits_per_byte");
    html += fmt::format(
        "<div><span class=name>{}</span><span class=track>{}</span><span "
        "class=value>{:.4f}</span></div>",
        escape_html(title_of(column, result)), bar(bits, largest, kind_of(column)), bits);
  }
  return html + "</div></figure>";
}

std::string table_row(const Json& result, const Json& group, const Json& row,
                      const std::string& first_cell) {
  std::string html =
      fmt::format("<tr><th scope=row>{}</th><td>{}</td>", first_cell, row.value("chunks", 0));
  const auto columns = unshifted_columns(result);
  if (row.value("is_too_few", false)) {
    return html + fmt::format("<td colspan={}>too few chunks</td></tr>", columns.size() + 1);
  }
  for (const std::string& column : columns) {
    const Json* system = find_system(row, column);
    html += system == nullptr ? "<td>-</td>"
                              : fmt::format("<td>{:.4f}</td>", number(*system, "bits_per_byte"));
  }
  const Json* headline = find_system(row, text(result, "headline"));
  (void)group;
  return html + fmt::format("<td class=gain>{}</td></tr>",
                            headline == nullptr ? "-" : interval_text((*headline)["gain"]));
}

std::string table_head(const Json& result, const std::string& first) {
  std::string html =
      fmt::format("<thead><tr><th scope=col>{}</th><th scope=col>chunks</th>", first);
  for (const std::string& column : unshifted_columns(result)) {
    html += fmt::format("<th scope=col>{}</th>", escape_html(title_of(column, result)));
  }
  return html + fmt::format("<th scope=col>{} minus on</th></tr></thead>",
                            escape_html(kind_of(text(result, "reference"))));
}

LineChart filtered_chart(const Json& result, const Json& group) {
  LineChart chart{"Filtered curve: " + group_name(group),
                  "largest overlap with the neighbours, alpha",
                  "bits per byte",
                  {},
                  false};
  for (const std::string& column :
       {text(result, "reference"), std::string("off.k0.s0"), text(result, "headline")}) {
    ChartSeries series{title_of(column, result), kind_of(column), {}};
    for (const Json& row : group["filtered"]) {
      const Json* system = row.value("is_too_few", false) ? nullptr : find_system(row, column);
      if (system != nullptr)
        series.points.push_back({number(row, "alpha"), number(*system, "bits_per_byte"), {}, {}});
    }
    const bool is_repeated =
        std::any_of(chart.series.begin(), chart.series.end(),
                    [&](const ChartSeries& earlier) { return earlier.style == series.style; });
    if (!series.points.empty() && !is_repeated) chart.series.push_back(std::move(series));
  }
  return chart;
}

LineChart shift_chart(const Json& group) {
  LineChart chart{"Shift test: " + group_name(group),
                  "tokens the chunk grid is moved by",
                  "gain of retrieval, bits per byte",
                  {},
                  true};
  std::map<double, ChartSeries> by_alpha;
  for (const Json& row : group["shifts"]) {
    if (row.value("is_too_few", false)) continue;
    const double alpha = number(row, "alpha");
    ChartSeries& series = by_alpha[alpha];
    series.name = alpha >= 1 ? "all chunks" : fmt::format("overlap at most {:g}", alpha);
    series.style = alpha >= 1 ? "off" : "on";
    const Json& gain = row["gain"];
    series.points.push_back({number(row, "shift"), number(gain, "estimate"), number(gain, "low"),
                             number(gain, "high")});
  }
  for (auto& [alpha, series] : by_alpha) chart.series.push_back(std::move(series));
  return chart;
}

}  // namespace

std::string overview_html(const Json& result) {
  std::string html = "<h2>What retrieval brought</h2><ul class=verdicts>";
  for (const Json& group : result["groups"]) {
    const Json& verdict = group["verdict"];
    html += fmt::format(R"(<li class="verdict {}"><b>{}</b> {}</li>)",
                        escape_html(text(verdict, "kind")), escape_html(group_name(group)),
                        escape_html(text(verdict, "sentence")));
  }
  html +=
      "</ul><p>Bits per byte of held-out text: lower is better. The last column is the gain of "
      "retrieval with its "
      "interval over documents; it counts only where the interval excludes zero.</p><div "
      "class=wide><table>";
  html += table_head(result, "source") + "<tbody>";
  for (const Json& group : result["groups"]) {
    html += table_row(result, group, group["filtered"].back(), escape_html(group_name(group)));
  }
  html += "</tbody></table></div><div class=figures>";
  for (const Json& group : result["groups"]) html += bars_html(result, group);
  return html + "</div>";
}

std::string curves_html(const Json& result) {
  std::string html =
      "<h2>Copied or read?</h2><p>A chunk's overlap is the longest run of tokens it shares with "
      "its "
      "neighbours, as a part of its length. A gain that lives only at high overlap is copying; a "
      "gain "
      "that vanishes when the chunk grid moves by a token is copying by position.</p>";
  for (const Json& group : result["groups"]) {
    html += fmt::format(
        "<h3>{}</h3><div class=figures>{}{}</div><details><summary>figures</summary><div "
        "class=wide><table>",
        escape_html(group_name(group)), to_svg(filtered_chart(result, group)),
        group["shifts"].empty() ? std::string{} : to_svg(shift_chart(group)));
    html += table_head(result, "overlap at most") + "<tbody>";
    for (const Json& row : group["filtered"]) {
      html += table_row(result, group, row, fmt::format("{:g}", number(row, "alpha")));
    }
    html += "</tbody></table></div></details>";
  }
  return html;
}

std::string notes_html(const Json& result) {
  std::string html = "<ul class=notes>";
  for (const Json& note : result["notes"])
    html += fmt::format("<li>{}</li>", escape_html(note.get<std::string>()));
  return html + "</ul>";
}

}  // namespace retro
