#include "config_node.h"

#include <algorithm>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "retro/core/error.h"

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

/// Length of the UTF-8 character at `offset`, 0 if it is broken (Unicode 15, table 3-7).
size_t character_length(std::string_view text, size_t offset) {
  const auto byte_at = [&](size_t i) {
    return offset + i < text.size() ? static_cast<uint8_t>(text[offset + i]) : uint8_t{0};
  };
  const uint8_t first = byte_at(0);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  // The second byte's range excludes overlong forms, surrogates and numbers above U+10FFFF.
  const uint8_t low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const uint8_t high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (byte_at(1) < low || byte_at(1) > high) return 0;
  const size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  for (size_t i = 2; i < length; ++i) {
    if ((byte_at(i) & 0xc0) != 0x80) return 0;
  }
  return length;
}

/// Offset of the first broken byte, or the size of `text`.
size_t first_invalid_utf8(std::string_view text) {
  size_t offset = 0;
  while (offset < text.size()) {
    const size_t length = character_length(text, offset);
    if (length == 0) break;
    offset += length;
  }
  return offset;
}

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
  if (const size_t offset = first_invalid_utf8(text); offset < text.size()) {
    const auto line =
        std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(offset), '\n') + 1;
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
