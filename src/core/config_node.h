// A YAML document as a plain tree that knows where each node came from; internal to core.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retro {

struct ConfigNode {
  enum class Kind { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  /// "configs/x.yaml:12" (the line of the key), or the override that made the node.
  std::string where;
  std::string text;        ///< of a scalar
  bool is_quoted = false;  ///< a quoted scalar is text, whatever it looks like
  /// Entries of a map in the order written, or elements of a list (then the names are empty).
  std::vector<std::pair<std::string, ConfigNode>> children;

  const ConfigNode* find(std::string_view name) const;
  ConfigNode* find(std::string_view name);
};

/// `name` is the file's name for `where`. Throws Error naming file and line for text that is no
/// YAML, for keys that stand twice, and for documents of absurd size.
ConfigNode parse_yaml(const std::string& text, const std::string& name);

/// Sets one value in `root`: "train.steps=200". Throws Error quoting the assignment.
void override_node(ConfigNode& root, const std::string& assignment);

/// The node at a dotted path, or nullptr.
const ConfigNode* node_at(const ConfigNode& root, std::string_view path);

/// "`abc`", "a list", "a block of keys", "nothing".
std::string describe(const ConfigNode& node);

}  // namespace retro
