// Help on every key, aligned for a terminal.
#include <algorithm>

#include <fmt/format.h>

#include "retro/core/config_yaml.h"

#include "config_schema.h"

namespace retro {
namespace {

constexpr size_t kLineWidth = 110;
constexpr size_t kMaxTypeWidth = 36;
constexpr size_t kMinHelpWidth = 30;

struct Row {
  std::string key;
  std::string type;
  std::string help;
};

void collect_rows(const ConfigSchema& schema, const std::string& prefix, std::vector<Row>& rows) {
  for (const ConfigSchema& child : schema.children) {
    const std::string key = prefix + child.name;
    const bool is_block = child.kind == ConfigSchema::Kind::kBlock;
    rows.push_back(
        {key, is_block ? "" : fmt::format("({}, {})", child.type, child.default_text), child.help});
    collect_rows(child, key + (child.kind == ConfigSchema::Kind::kList ? ".N." : "."), rows);
  }
}

/// Cuts at spaces; a longer word keeps its line.
std::vector<std::string> wrapped(std::string_view text, size_t width) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width)
      lines.emplace_back();
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word;
  }
  return lines;
}

std::string without_trailing_spaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string format_row(const Row& row, size_t key_width, size_t type_width) {
  const size_t help_column = key_width + type_width + 4;
  const size_t help_width = std::max(kMinHelpWidth, kLineWidth - std::min(kLineWidth, help_column));
  std::string text = fmt::format("{:<{}}  {:<{}}  ", row.key, key_width, row.type, type_width);
  const std::string margin(help_column, ' ');
  if (row.type.size() > type_width) text = without_trailing_spaces(text) + margin;
  std::string result;
  for (const std::string& line : wrapped(row.help, help_width)) {
    result += without_trailing_spaces(text + line);
    text = margin;
  }
  return result;
}

}  // namespace

std::string help_of(const std::function<void(FieldVisitor&)>& visit) {
  std::vector<Row> rows;
  collect_rows(schema_of(visit), "", rows);
  size_t key_width = 0;
  size_t type_width = 0;
  for (const Row& row : rows) {
    key_width = std::max(key_width, row.key.size());
    if (row.type.size() <= kMaxTypeWidth) type_width = std::max(type_width, row.type.size());
  }
  std::string help;
  for (const Row& row : rows) help += format_row(row, key_width, type_width);
  return help;
}

}  // namespace retro
