// Unknown keys and what was probably meant.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "retro/core/config_yaml.h"
#include "retro/core/error.h"

#include "config_schema.h"

namespace retro {
namespace {

constexpr size_t kMaxSuggestions = 3;

std::string join_path(const std::string& prefix, std::string_view name) {
  return prefix.empty() ? std::string(name) : fmt::format("{}.{}", prefix, name);
}

/// Dotted names of everything in `schema`; lists end a name, since their elements have numbers.
void collect_names(const ConfigSchema& schema, const std::string& prefix,
                   std::vector<std::string>& names) {
  for (const ConfigSchema& child : schema.children) {
    const std::string name = join_path(prefix, child.name);
    names.push_back(name);
    if (child.kind == ConfigSchema::Kind::kBlock) collect_names(child, name, names);
  }
}

std::string_view last_segment(std::string_view path) { return path.substr(path.rfind('.') + 1); }

/// The nearest name, else names that end alike: `steps` may be meant as `train.steps`.
std::vector<std::string> suggestions(const std::string& path,
                                     const std::vector<std::string>& names) {
  if (std::string nearest = nearest_name(path, names); !nearest.empty()) return {nearest};
  std::vector<std::string> found;
  for (const std::string& name : names) {
    if (last_segment(name) == last_segment(path)) found.push_back(fmt::format("{}", name));
  }
  if (found.size() > kMaxSuggestions) found.clear();
  return found;
}

class KeyChecker {
 public:
  /// `scope` and `scope_path`: the whole configuration, or the list element that is being looked
  /// at.
  KeyChecker(const ConfigSchema& scope, std::string scope_path)
      : scope_(scope), scope_path_(std::move(scope_path)) {}

  void check(const ConfigNode& node, const ConfigSchema& schema, const std::string& path) const {
    if (node.kind != ConfigNode::Kind::kMap) return;
    for (const auto& [name, child] : node.children) {
      const ConfigSchema* known = schema.find(name);
      if (known == nullptr) refuse(child, join_path(path, name));
      if (known->kind == ConfigSchema::Kind::kBlock) check(child, *known, join_path(path, name));
      if (known->kind == ConfigSchema::Kind::kList)
        check_elements(child, *known, join_path(path, name));
    }
  }

 private:
  static void check_elements(const ConfigNode& list, const ConfigSchema& schema,
                             const std::string& path) {
    if (list.kind != ConfigNode::Kind::kList) return;
    for (size_t i = 0; i < list.children.size(); ++i) {
      const std::string element = join_path(path, std::to_string(i));
      KeyChecker(schema, element).check(list.children[i].second, schema, element);
    }
  }

  /// An unknown block is named by its first value: that name is the nearest to the one that was
  /// meant.
  [[noreturn]] void refuse(const ConfigNode& unknown, std::string path) const {
    const ConfigNode* node = &unknown;
    while (node->kind == ConfigNode::Kind::kMap && !node->children.empty()) {
      path = join_path(path, node->children.front().first);
      node = &node->children.front().second;
    }
    std::vector<std::string> names;
    collect_names(scope_, scope_path_, names);
    const std::vector<std::string> meant = suggestions(path, names);
    throw Error(fmt::format(
        "{}: unknown key `{}`{}", node->where, path,
        meant.empty() ? "" : fmt::format("; did you mean `{}`?", fmt::join(meant, "` or `"))));
  }

  const ConfigSchema& scope_;
  std::string scope_path_;
};

}  // namespace

void check_keys(const ConfigNode& root, const ConfigSchema& schema) {
  KeyChecker(schema, "").check(root, schema, "");
}

}  // namespace retro
