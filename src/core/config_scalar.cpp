#include "config_scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace retro {
namespace {

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& letter : result) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return result;
}

/// "true", "True", "TRUE", but not "tRUE".
bool is_usual_case(std::string_view text) {
  const std::string small = lower(text);
  const auto is_upper = [](char letter) { return letter >= 'A' && letter <= 'Z'; };
  return text == small || std::all_of(text.begin(), text.end(), is_upper) ||
         (is_upper(text[0]) && text.substr(1) == std::string_view(small).substr(1));
}

struct Decimal {
  bool is_negative = false;
  std::string digits;  ///< without point
  int64_t exponent = 0;
  bool is_integer_form = true;  ///< neither point nor exponent
};

/// The digits at the front of `text`, underscores between digits skipped; they are removed from
/// `text`.
std::string take_digits(std::string_view& text) {
  std::string digits;
  while (!text.empty()) {
    const bool is_separator =
        text[0] == '_' && !digits.empty() && text.size() > 1 && is_digit(text[1]);
    if (!is_digit(text[0]) && !is_separator) break;
    if (!is_separator) digits.push_back(text[0]);
    text.remove_prefix(1);
  }
  return digits;
}

bool take_sign(std::string_view& text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  return is_negative;
}

bool take_exponent(std::string_view& text, int64_t& exponent) {
  if (text.empty()) return true;
  if (text[0] != 'e' && text[0] != 'E') return false;
  text.remove_prefix(1);
  const bool is_negative = take_sign(text);
  const std::string digits = take_digits(text);
  if (digits.empty() || digits.size() > 6 || !text.empty()) return false;
  exponent += (is_negative ? -1 : 1) * std::stoll(digits);
  return true;
}

std::optional<Decimal> parse_decimal(std::string_view text) {
  Decimal number;
  number.is_negative = take_sign(text);
  number.digits = take_digits(text);
  number.is_integer_form = text.empty();
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    const std::string fraction = take_digits(text);
    number.digits += fraction;
    number.exponent = -static_cast<int64_t>(fraction.size());
  }
  if (number.digits.empty() || !take_exponent(text, number.exponent)) return std::nullopt;
  return number;
}

std::string escaped(unsigned char byte) {
  switch (byte) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\t':
      return "\\t";
    case '\r':
      return "\\r";
    default:
      return byte < 0x20 || byte == 0x7f ? fmt::format("\\x{:02x}", byte)
                                         : std::string(1, static_cast<char>(byte));
  }
}

bool is_plain(std::string_view text) {
  constexpr std::array<std::string_view, 6> kReserved{"null", "y", "n", "true", "false", "nan"};
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '/';
  };
  const auto is_safe = [&](char c) { return is_letter(c) || is_digit(c) || c == '.' || c == '-'; };
  const std::string small = lower(text);
  return !text.empty() && is_letter(text[0]) && std::all_of(text.begin(), text.end(), is_safe) &&
         !parse_bool(small) &&
         std::find(kReserved.begin(), kReserved.end(), small) == kReserved.end();
}

}  // namespace

std::optional<bool> parse_bool(std::string_view text) {
  if (text.empty() || !is_usual_case(text)) return std::nullopt;
  const std::string small = lower(text);
  if (small == "true" || small == "yes" || small == "on") return true;
  if (small == "false" || small == "no" || small == "off") return false;
  return std::nullopt;
}

std::optional<int64_t> parse_int(std::string_view text) {
  auto number = parse_decimal(text);
  if (!number) return std::nullopt;
  std::string& digits = number->digits;
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
  for (; number->exponent < 0; ++number->exponent) {
    if (digits == "0") break;
    if (digits.back() != '0') return std::nullopt;
    digits.pop_back();
  }
  if (digits != "0") {
    if (number->exponent > 19) return std::nullopt;
    digits.append(static_cast<size_t>(std::max<int64_t>(0, number->exponent)), '0');
  }
  if (number->is_negative) digits.insert(0, "-");
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_double(std::string_view text) {
  const std::string small = lower(text);
  if (small == ".nan") return std::numeric_limits<double>::quiet_NaN();
  if (small == ".inf" || small == "+.inf") return std::numeric_limits<double>::infinity();
  if (small == "-.inf") return -std::numeric_limits<double>::infinity();
  const auto number = parse_decimal(text);
  if (!number) return std::nullopt;
  const std::string plain =
      fmt::format("{}{}e{}", number->is_negative ? "-" : "", number->digits, number->exponent);
  double value = 0;
  const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

std::string yaml_of_double(double value) {
  if (std::isnan(value)) return ".nan";
  if (std::isinf(value)) return value > 0 ? ".inf" : "-.inf";
  std::string text = fmt::format("{}", value);
  if (text.find('.') == std::string::npos) {
    const size_t exponent = std::min(text.find('e'), text.size());
    text.insert(exponent, ".0");
  }
  return text;
}

std::string yaml_of_string(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  std::string quoted = "\"";
  for (const char letter : text) quoted += escaped(static_cast<unsigned char>(letter));
  return quoted + "\"";
}

}  // namespace retro
