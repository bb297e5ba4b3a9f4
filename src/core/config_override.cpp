#include <optional>

#include <fmt/format.h>

#include "retro/core/error.h"

#include "config_node.h"
#include "config_scalar.h"

namespace retro {
namespace {

/// "a.b.\"linux-6.1\"" -> a, b, linux-6.1: quotes keep a dot inside a name.
std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> segments(1);
  bool is_in_quotes = false;
  for (const char letter : path) {
    if (letter == '"') {
      is_in_quotes = !is_in_quotes;
    } else if (letter == '.' && !is_in_quotes) {
      segments.emplace_back();
    } else {
      segments.back().push_back(letter);
    }
  }
  return segments;
}

std::optional<size_t> index_of(const std::string& segment) {
  const bool is_number = !segment.empty() && segment.size() < 10 &&
                         segment.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number) return std::nullopt;
  return static_cast<size_t>(std::stoul(segment));
}

void set_where(ConfigNode& node, const std::string& where) {
  node.where = where;
  for (auto& [name, child] : node.children) set_where(child, where);
}

ConfigNode& list_element(ConfigNode& list, const std::string& segment, const std::string& where) {
  const auto index = index_of(segment);
  RETRO_CHECK(index.has_value(), "{}: `{}` is no index of the list at {}", where, segment,
              list.where);
  RETRO_CHECK(*index <= list.children.size(),
              "{}: index {} is out of range, the list in the file has {} elements", where, *index,
              list.children.size());
  if (*index == list.children.size()) list.children.emplace_back("", ConfigNode{});
  return list.children[*index].second;
}

/// The child `segment` of `node`, made if absent: an index makes a list of what was nothing, a name
/// a map.
ConfigNode& descend(ConfigNode& node, const std::string& segment, const std::string& where) {
  RETRO_CHECK(!segment.empty(), "{}: empty name in the key", where);
  RETRO_CHECK(node.kind != ConfigNode::Kind::kScalar, "{}: nothing can stand below {} ({})", where,
              describe(node), node.where);
  if (node.kind == ConfigNode::Kind::kNull) {
    node.kind = index_of(segment) ? ConfigNode::Kind::kList : ConfigNode::Kind::kMap;
    node.where = where;
  }
  if (node.kind == ConfigNode::Kind::kList) return list_element(node, segment, where);
  if (ConfigNode* child = node.find(segment)) return *child;
  return node.children.emplace_back(segment, ConfigNode{}).second;
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

}  // namespace

void override_node(ConfigNode& root, const std::string& assignment) {
  const std::string where = fmt::format("override `{}`", assignment);
  const size_t equals = assignment.find('=');
  RETRO_CHECK(equals != std::string::npos && equals > 0, "{}: expected KEY=VALUE", where);
  const std::string value = assignment.substr(equals + 1);
  RETRO_CHECK(!trimmed(value).empty(),
              "{}: no value; write '\"\"' for an empty text, null for the default", where);
  ConfigNode parsed;
  try {
    parsed = parse_yaml(value, "value");
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", where, error.what()));
  }
  set_where(parsed, where);
  ConfigNode* node = &root;
  for (const std::string& segment : split_path(trimmed(assignment.substr(0, equals)))) {
    node = &descend(*node, segment, where);
  }
  *node = std::move(parsed);
}

const ConfigNode* node_at(const ConfigNode& root, std::string_view path) {
  const ConfigNode* node = &root;
  for (const std::string& segment : split_path(path)) {
    if (node->kind == ConfigNode::Kind::kList) {
      const auto index = index_of(segment);
      if (!index || *index >= node->children.size()) return nullptr;
      node = &node->children[*index].second;
    } else {
      node = node->find(segment);
    }
    if (node == nullptr) return nullptr;
  }
  return node;
}

}  // namespace retro
