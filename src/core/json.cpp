#include "retro/core/json.h"

#include <algorithm>

#include "retro/core/file_system.h"

namespace retro {
namespace {

using nlohmann::json;

/// "3:14" for a byte offset, both counted from 1.
std::string line_and_column(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return fmt::format("{}:{}", line, before.size() - line_start + 1);
}

/// Writing deeper values as text recurses, which could exhaust the stack.
constexpr int64_t kDeepestNesting = 1000;

void check_nesting(std::string_view text, std::string_view where) {
  int64_t depth = 0;
  int64_t deepest = 0;
  bool is_in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char byte = text[i];
    if (is_in_string && byte == '\\') ++i;  // what it escapes is no end of the string
    if (byte == '"') is_in_string = !is_in_string;
    if (is_in_string) continue;
    if (byte == '[' || byte == '{') deepest = std::max(deepest, ++depth);
    if (byte == ']' || byte == '}') --depth;
  }
  RETRO_CHECK(deepest <= kDeepestNesting, "{}: JSON nested more than {} deep", where,
              kDeepestNesting);
}

}  // namespace

json parse_json(std::string_view text, std::string_view where) {
  check_nesting(text, where);
  try {
    return json::parse(text.begin(), text.end());
  } catch (const json::parse_error& error) {
    // `byte` counts from 1 and points at the last character read.
    const size_t offset = error.byte > 0 ? error.byte - 1 : 0;
    throw Error(fmt::format("{}:{}: not valid JSON", where, line_and_column(text, offset)));
  } catch (const json::exception&) {
    throw Error(fmt::format("{}: a number in the JSON is out of range", where));
  }
}

json read_json_file(const std::filesystem::path& path) {
  return parse_json(read_file(path), path.string());
}

void write_json_file(const std::filesystem::path& path, const json& value) {
  write_file(path, value.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
}

std::string json_line(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

const json& json_at(const json& object, const std::string& key, std::string_view where) {
  RETRO_CHECK(object.is_object(), "{}: expected an object with `{}`", where, key);
  const auto found = object.find(key);
  RETRO_CHECK(found != object.end(), "{}: `{}` is missing", where, key);
  return *found;
}

}  // namespace retro
