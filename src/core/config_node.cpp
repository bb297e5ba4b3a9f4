#include "config_node.h"

#include <algorithm>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "retro/core/error.h"
#include "retro/core/utf8.h"

namespace retro {
namespace {

// Far above any real configuration; an alias may refer to its own parent or multiply without end.
constexpr int kMaxDepth = 64;
constexpr int64_t kMaxNodes = 1'000'000;

/// Copies YAML::Node into ConfigNode.
class Converter {
 public:
  explicit Converter(const std::string& name) : name_(name) {}

  ConfigNode convert(const YAML::Node& yaml, int line, int depth = 0) {
    RETRO_CHECK(depth < kMaxDepth && ++num_nodes_ < kMaxNodes, "{}: nested too deep or too large",
                where(line));
    ConfigNode node;
    node.where = where(line);
    if (yaml.IsScalar()) {
      node.kind = ConfigNode::Kind::kScalar;
      node.text = yaml.Scalar();
      node.is_quoted = yaml.Tag() == "!";
    } else if (yaml.IsSequence()) {
      node.kind = ConfigNode::Kind::kList;
      for (const YAML::Node& element : yaml) {
        // The mark of an empty element is that of whatever follows it.
        const int element_line = element.IsNull() ? line : element.Mark().line;
        node.children.emplace_back("", convert(element, element_line, depth + 1));
      }
    } else if (yaml.IsMap()) {
      node.kind = ConfigNode::Kind::kMap;
      for (const auto& entry : yaml) add_entry(node, entry.first, entry.second, depth);
    }
    return node;
  }

 private:
  std::string where(int line) const { return fmt::format("{}:{}", name_, line + 1); }

  void add_entry(ConfigNode& node, const YAML::Node& key, const YAML::Node& value, int depth) {
    const int line = key.Mark().line;
    RETRO_CHECK(key.IsScalar(), "{}: a key must be a word", where(line));
    RETRO_CHECK(node.find(key.Scalar()) == nullptr, "{}: key `{}` stands twice (first at {})",
                where(line), key.Scalar(), node.find(key.Scalar())->where);
    node.children.emplace_back(key.Scalar(), convert(value, line, depth + 1));
  }

  std::string name_;
  int64_t num_nodes_ = 0;
};

}  // namespace

const ConfigNode* ConfigNode::find(std::string_view name) const {
  for (const auto& [key, child] : children) {
    if (key == name) return &child;
  }
  return nullptr;
}

ConfigNode* ConfigNode::find(std::string_view name) {
  return const_cast<ConfigNode*>(std::as_const(*this).find(name));
}

ConfigNode parse_yaml(const std::string& text, const std::string& name) {
  // yaml-cpp would put U+FFFD in the place of what it cannot read, and a path would silently be
  // another.
  if (const int64_t offset = first_invalid_utf8(text); offset >= 0) {
    const auto line = std::count(text.begin(), text.begin() + offset, '\n') + 1;
    throw Error(fmt::format("{}:{}: not valid UTF-8 (byte {} of the file)", name, line, offset));
  }
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    RETRO_CHECK(documents.size() <= 1, "{}: holds {} YAML documents, expected one", name,
                documents.size());
    return documents.empty() ? ConfigNode{} : Converter(name).convert(documents.front(), 0);
  } catch (const YAML::Exception& error) {
    throw Error(fmt::format("{}:{}: not valid YAML: {}", name, error.mark.line + 1, error.msg));
  }
}

std::string describe(const ConfigNode& node) {
  switch (node.kind) {
    case ConfigNode::Kind::kScalar:
      return node.is_quoted ? fmt::format("the text \"{}\"", node.text)
                            : fmt::format("`{}`", node.text);
    case ConfigNode::Kind::kList:
      return "a list";
    case ConfigNode::Kind::kMap:
      return "a block of keys";
    case ConfigNode::Kind::kNull:
      break;
  }
  return "nothing";
}

}  // namespace retro
