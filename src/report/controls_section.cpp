#include <cmath>

#include <fmt/core.h>

#include "retro/report/html_table.h"

#include "sections.h"

namespace retro {
namespace {

struct Control {
  std::string name, expectation, seen;
  int holds = 0;  ///< 1 yes, -1 no, 0 a figure to read
};

/// How much better `a` is than `b`, bits per byte.
double difference(const Json& a, const Json& b) {
  return number_at(b, "bits_per_byte") - number_at(a, "bits_per_byte");
}

std::string amount(double bits) {
  return fmt::format("{:.4f} bits per byte {}", std::abs(bits), bits >= 0 ? "better" : "worse");
}

void add_random(const Json& row, std::vector<Control>& controls) {
  const Json *random = find_kind(row, "random"), *off = find_kind(row, "off");
  if (random == nullptr || off == nullptr) return;
  const Gain over_off = interval_at(row, "random_over_off");
  const std::string seen = amount(difference(*random, *off)) + " than retrieval off";
  if (!over_off.is_known()) {  // a result of an older program
    controls.push_back({"random passages", "not better than reading nothing", seen, 0});
    return;
  }
  controls.push_back({"random passages", "not better than reading nothing",
                      fmt::format("{} (95 % interval {} to {})", seen, signed_text(over_off.low),
                                  signed_text(over_off.high)),
                      over_off.is_above_zero() ? -1 : 1});
}

void add_leaked(const Json& row, std::vector<Control>& controls) {
  const Json *leaked = find_kind(row, "leaked"), *on = find_kind(row, "on");
  if (leaked == nullptr || on == nullptr) return;
  const double better = difference(*leaked, *on);
  controls.push_back({"the chunk itself as its passage (leaked)",
                      "better than real passages: the model can copy",
                      amount(better) + " than retrieval on", better > 0 ? 1 : -1});
}

void add_removed(const Json& row, std::vector<Control>& controls) {
  const Json *removed = find_kind(row, "counterpart_removed"), *on = find_kind(row, "on");
  if (removed == nullptr || on == nullptr) return;
  const double lost = difference(*on, *removed);
  controls.push_back({"other versions of the same work removed",
                      "shows how much of the gain they bring", amount(-lost) + " than with them",
                      0});
}

void add_off(const Json& row, std::vector<Control>& controls) {
  const Json *off = find_kind(row, "off"), *baseline = find_kind(row, "baseline");
  if (off == nullptr || baseline == nullptr) return;
  controls.push_back({"retrieval off", "close to the baseline, usually a little worse",
                      amount(difference(*off, *baseline)) + " than the baseline", 0});
}

TableCell outcome(int holds) {
  if (holds == 0) return {"–", "0"};
  return holds > 0 ? TableCell{"<span class=good>✓ holds</span>", "1"}
                   : TableCell{"<span class=bad>✗ does not hold</span>", "-1"};
}

}  // namespace

std::string controls_html(const Json& group) {
  const Json* row = whole_row(group);
  std::vector<Control> controls;
  if (row != nullptr) {
    add_random(*row, controls);
    add_leaked(*row, controls);
    add_removed(*row, controls);
    add_off(*row, controls);
  }
  if (controls.empty()) return {};
  HtmlTable table;
  table.caption = "Controls, " + group_name(group);
  table.columns = {"control", "expected", "seen", "holds"};
  for (const Control& control : controls) {
    table.rows.push_back({text_cell(control.name), text_cell(control.expectation),
                          text_cell(control.seen), outcome(control.holds)});
  }
  return "<div class=text-table>" + to_html(table) + "</div>";
}

}  // namespace retro
