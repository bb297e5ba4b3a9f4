#include "result_view.h"

#include <cmath>
#include <limits>

#include <fmt/core.h>

namespace retro {

double number_at(const Json& object, const char* key) {
  const bool is_there = object.is_object() && object.contains(key) && object[key].is_number();
  return is_there ? object[key].get<double>() : std::numeric_limits<double>::quiet_NaN();
}

std::string text_at(const Json& object, const char* key) {
  const bool is_there = object.is_object() && object.contains(key) && object[key].is_string();
  return is_there ? object[key].get<std::string>() : std::string{};
}

const Json& list_at(const Json& object, const char* key) {
  static const Json kEmpty = Json::array();
  const bool is_there = object.is_object() && object.contains(key) && object[key].is_array();
  return is_there ? object[key] : kEmpty;
}

bool Gain::is_known() const { return std::isfinite(estimate); }

Gain interval_at(const Json& object, const char* key) {
  const Json value = object.is_object() && object.contains(key) ? object[key] : Json{};
  return {number_at(value, "estimate"), number_at(value, "low"), number_at(value, "high")};
}

Gain gain_at(const Json& object) { return interval_at(object, "gain"); }

std::string signed_text(double value) {
  const std::string text = fmt::format("{:+.4f}", value);
  return value < 0 ? "−" + text.substr(1) : text;
}

std::string gain_text(const Gain& gain) {
  if (!gain.is_known()) return "–";
  if (!std::isfinite(gain.low) || gain.low == gain.high) return signed_text(gain.estimate);
  return fmt::format("{} ± {:.4f}", signed_text(gain.estimate), (gain.high - gain.low) / 2);
}

std::string group_name(const Json& group) {
  const std::string part = text_at(group, "part");
  const std::string source = text_at(group, "source");
  if (source == "all" && part.empty()) return "all text";
  return part.empty() ? source : source + ": " + part;
}

std::string kind_of(const std::string& column) { return column.substr(0, column.find('.')); }

std::string column_title(const std::string& column) {
  const std::string kind = kind_of(column);
  if (kind == "off") return "retrieval off";
  if (kind == "random") return "random neighbours";
  if (kind == "leaked") return "leaked neighbours";
  if (kind == "counterpart_removed") return "counterpart removed";
  if (kind == "baseline_wide") return "baseline of RETRO's size";
  if (kind == "baseline_database") return "baseline trained on the database too";
  if (kind != "on") return kind == "baseline" ? kind : column;
  const size_t k = column.find(".k");
  if (k == std::string::npos) return "retrieval on";
  return "retrieval on, k = " + column.substr(k + 2, column.find('.', k + 2) - k - 2);
}

std::vector<std::string> unshifted_columns(const Json& result) {
  std::vector<std::string> columns;
  for (const Json& column : list_at(result, "columns")) {
    if (column.is_string() && column.get<std::string>().ends_with(".s0"))
      columns.push_back(column.get<std::string>());
  }
  return columns;
}

const Json* find_system(const Json& row, const std::string& column) {
  for (const Json& system : list_at(row, "systems")) {
    if (text_at(system, "column") == column) return &system;
  }
  return nullptr;
}

const Json* find_kind(const Json& row, const std::string& kind) {
  for (const Json& system : list_at(row, "systems")) {
    const std::string column = text_at(system, "column");
    if (kind_of(column) == kind && column.ends_with(".s0")) return &system;
  }
  return nullptr;
}

const Json* whole_row(const Json& group) {
  const Json& rows = list_at(group, "filtered");
  return rows.empty() || rows.back().value("is_too_few", false) ? nullptr : &rows.back();
}

const Json* group_of_all(const Json& result) {
  const Json& groups = list_at(result, "groups");
  for (const Json& group : groups) {
    if (text_at(group, "source") == "all") return &group;
  }
  return groups.empty() ? nullptr : &groups.front();
}

}  // namespace retro
