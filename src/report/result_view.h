// Reading access to eval/result.json that takes what is there: an absent figure is NaN, an absent
// list empty.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace retro {

using Json = nlohmann::json;

double number_at(const Json& object, const char* key);
std::string text_at(const Json& object, const char* key);
/// An empty array where `key` holds none.
const Json& list_at(const Json& object, const char* key);

/// Reference minus system, bits per byte, with its interval.
struct Gain {
  double estimate, low, high;
  bool is_known() const;
  bool is_above_zero() const { return low > 0; }
  bool is_below_zero() const { return high < 0; }
};

/// The interval `key` of an object; NaN where there is none.
Gain interval_at(const Json& object, const char* key);
/// The interval `gain`.
Gain gain_at(const Json& object);
/// "+0.1201", "−0.0105".
std::string signed_text(double value);
/// "+0.1201 ± 0.0264"; "–" where unknown.
std::string gain_text(const Gain& gain);

/// "linux-6.12", or "linux-6.12: changed" for a part.
std::string group_name(const Json& group);
/// "on.k2.s0" -> "on".
std::string kind_of(const std::string& column);
/// What a person calls a column: "retrieval on, k = 2".
std::string column_title(const std::string& column);
/// The unshifted columns, in the result's order.
std::vector<std::string> unshifted_columns(const Json& result);
/// The system's figure in a row of the filtered curve; null where it is not there.
const Json* find_system(const Json& row, const std::string& column);
/// The same by kind ("random"), unshifted, the first of its kind.
const Json* find_kind(const Json& row, const std::string& kind);
/// The row over all chunks; null where there is none, or too few chunks.
const Json* whole_row(const Json& group);
/// The group of everything together, or the first one; null without groups.
const Json* group_of_all(const Json& result);

}  // namespace retro
