// JSON files in and out, and typed access that names the file and the key when something is wrong.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "retro/core/error.h"

namespace retro {

/// Throws Error naming the file and, for text that is no JSON, line and column.
nlohmann::json read_json_file(const std::filesystem::path& path);
/// `where` names the text in the Error ("corpus.jsonl:12").
nlohmann::json parse_json(std::string_view text, std::string_view where);
/// Atomically, indented by two spaces, with a final newline; invalid UTF-8 becomes U+FFFD.
void write_json_file(const std::filesystem::path& path, const nlohmann::json& value);
/// One line for a .jsonl file, without the newline; invalid UTF-8 becomes U+FFFD.
std::string json_line(const nlohmann::json& value);

/// The entry `key` of `object`. Throws Error "WHERE: `key` is missing".
const nlohmann::json& json_at(const nlohmann::json& object, const std::string& key,
                              std::string_view where);

/// True if `value` can become a T without loss: integers of T's range, numbers for floating point,
/// text, booleans.
template <class T>
bool json_is(const nlohmann::json& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value.is_boolean();
  } else if constexpr (std::is_integral_v<T>) {
    if (value.is_number_unsigned()) return std::in_range<T>(value.get<uint64_t>());
    return value.is_number_integer() && std::in_range<T>(value.get<int64_t>());
  } else if constexpr (std::is_floating_point_v<T>) {
    return value.is_number();
  } else if constexpr (std::is_convertible_v<T, std::string>) {
    return value.is_string();
  } else {
    return value.is_array();
  }
}

template <class T>
T json_convert(const nlohmann::json& value, const std::string& key, std::string_view where) {
  RETRO_CHECK(json_is<T>(value), "{}: `{}` has an unexpected value: {:.60}", where, key,
              json_line(value));
  if constexpr (requires { typename T::value_type; } && !std::is_convertible_v<T, std::string>) {
    T list;
    for (const auto& element : value)
      list.push_back(json_convert<typename T::value_type>(element, key, where));
    return list;
  } else {
    return value.get<T>();
  }
}

/// `json_get<int64_t>(config, "num_hidden_layers", "config.json")`; T is bool, a number,
/// std::string or a std::vector of those. Throws Error naming `where` and the key if it is missing
/// or of another type.
template <class T>
T json_get(const nlohmann::json& object, const std::string& key, std::string_view where) {
  return json_convert<T>(json_at(object, key, where), key, where);
}

/// The same with a value for a key that is missing or null.
template <class T>
T json_get_or(const nlohmann::json& object, const std::string& key, T fallback,
              std::string_view where) {
  if (!object.is_object() || !object.contains(key) || object.at(key).is_null()) return fallback;
  return json_convert<T>(object.at(key), key, where);
}

}  // namespace retro
