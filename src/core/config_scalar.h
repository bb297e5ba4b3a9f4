// YAML scalars to values and back; internal to core.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace retro {

/// true/false, yes/no, on/off, in lower, upper or title case.
std::optional<bool> parse_bool(std::string_view text);
/// Decimal integers, also "1_000_000" and "1e6"; what is not integral or does not fit is refused.
std::optional<int64_t> parse_int(std::string_view text);
/// Decimal numbers, ".inf", "-.inf", ".nan".
std::optional<double> parse_double(std::string_view text);

/// The shortest text that parses back to the same bits; always with a point, so that every YAML
/// reader sees a float.
std::string yaml_of_double(double value);
/// Plain where that is safe, else in double quotes.
std::string yaml_of_string(std::string_view text);

}  // namespace retro
