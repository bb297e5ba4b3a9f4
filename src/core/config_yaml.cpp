#include "retro/core/config_yaml.h"

#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "retro/core/file_system.h"

#include "config_node.h"
#include "config_scalar.h"
#include "config_schema.h"

namespace retro {
namespace {

using Kind = ConfigNode::Kind;

/// Reads values out of the tree; what is absent or null keeps its default.
class Parser : public FieldVisitor {
 public:
  explicit Parser(const ConfigNode& root) : stack_{&root} {}

  void operator()(std::string_view name, bool& value, std::string_view) override {
    read(name, value, "true or false", parse_bool);
  }
  void operator()(std::string_view name, int64_t& value, std::string_view) override {
    read(name, value, "an integer", parse_int);
  }
  void operator()(std::string_view name, double& value, std::string_view) override {
    read(name, value, "a number", parse_double);
  }
  void operator()(std::string_view name, std::string& value, std::string_view) override {
    const ConfigNode* node = find(name);
    if (node == nullptr) return;
    value = text_of(*node, path_of(name));
  }
  void operator()(std::string_view name, std::vector<int64_t>& value, std::string_view) override {
    read_list(name, value, "a list of integers, like [1, 2]", "an integer", parse_int);
  }
  void operator()(std::string_view name, std::vector<double>& value, std::string_view) override {
    read_list(name, value, "a list of numbers, like [0.1, 0.2]", "a number", parse_double);
  }
  void operator()(std::string_view name, std::vector<std::string>& value,
                  std::string_view) override {
    const ConfigNode* node = find(name);
    if (node == nullptr) return;
    expect(node->kind == Kind::kList, *node, path_of(name), "a list, like [a, b]");
    value.clear();
    for (size_t i = 0; i < node->children.size(); ++i) {
      value.push_back(text_of(node->children[i].second, fmt::format("{}.{}", path_of(name), i)));
    }
  }
  void operator()(std::string_view name, std::map<std::string, double>& value,
                  std::string_view) override {
    const ConfigNode* node = find(name);
    if (node == nullptr) return;
    expect(node->kind == Kind::kMap, *node, path_of(name),
           "names with numbers, like {a: 0.5, b: 1}");
    value.clear();
    for (const auto& [key, child] : node->children) {
      value[key] =
          scalar<double>(child, fmt::format("{}.{}", path_of(name), key), "a number", parse_double);
    }
  }
  void choice(std::string_view name, std::string& value, const std::vector<std::string>& choices,
              std::string_view) override {
    const ConfigNode* node = find(name);
    if (node == nullptr) return;
    const std::string text = text_of(*node, path_of(name));
    const bool is_known = std::find(choices.begin(), choices.end(), text) != choices.end();
    expect(is_known, *node, path_of(name), fmt::format("one of {}", fmt::join(choices, ", ")));
    value = text;
  }

 protected:
  bool begin_struct(std::string_view name, std::string_view) override {
    const ConfigNode* node = find(name);
    if (node == nullptr) return false;
    expect(node->kind == Kind::kMap, *node, path_of(name), "a block of keys");
    push(node, std::string(name));
    return true;
  }
  void end_struct() override { pop(); }
  int64_t begin_list(std::string_view name, int64_t, std::string_view) override {
    const ConfigNode* node = find(name);
    if (node == nullptr) return -1;
    expect(node->kind == Kind::kList, *node, path_of(name), "a list of blocks");
    push(node, std::string(name));
    return static_cast<int64_t>(node->children.size());
  }
  void begin_element(int64_t index) override {
    const ConfigNode& element = stack_.back()->children[static_cast<size_t>(index)].second;
    const std::string number = std::to_string(index);
    expect(element.kind == Kind::kMap, element, path_of(number), "a block of keys");
    push(&element, number);
  }
  void end_element() override { pop(); }
  void end_list() override { pop(); }
  bool replaces_lists() const override { return true; }

 private:
  const ConfigNode* find(std::string_view name) const {
    const ConfigNode* node = stack_.back()->find(name);
    return node == nullptr || node->kind == Kind::kNull ? nullptr : node;
  }
  std::string path_of(std::string_view name) const {
    std::string path;
    for (const std::string& segment : path_) path += segment + ".";
    return path.append(name);
  }
  void push(const ConfigNode* node, std::string name) {
    stack_.push_back(node);
    path_.push_back(std::move(name));
  }
  void pop() {
    stack_.pop_back();
    path_.pop_back();
  }

  static void expect(bool condition, const ConfigNode& node, const std::string& path,
                     std::string_view expected) {
    RETRO_CHECK(condition, "{}: `{}`: expected {}, found {}", node.where, path, expected,
                describe(node));
  }
  static std::string text_of(const ConfigNode& node, const std::string& path) {
    expect(node.kind == Kind::kScalar, node, path, "text");
    return node.text;
  }
  template <class T>
  static T scalar(const ConfigNode& node, const std::string& path, std::string_view expected,
                  std::optional<T> (*parse)(std::string_view)) {
    const auto value =
        node.kind == Kind::kScalar && !node.is_quoted ? parse(node.text) : std::nullopt;
    expect(value.has_value(), node, path, expected);
    return *value;
  }
  template <class T>
  void read(std::string_view name, T& value, std::string_view expected,
            std::optional<T> (*parse)(std::string_view)) const {
    if (const ConfigNode* node = find(name))
      value = scalar<T>(*node, path_of(name), expected, parse);
  }
  template <class T>
  void read_list(std::string_view name, std::vector<T>& values, std::string_view expected,
                 std::string_view expected_element,
                 std::optional<T> (*parse)(std::string_view)) const {
    const ConfigNode* node = find(name);
    if (node == nullptr) return;
    expect(node->kind == Kind::kList, *node, path_of(name), expected);
    values.clear();
    for (size_t i = 0; i < node->children.size(); ++i) {
      const std::string path = fmt::format("{}.{}", path_of(name), i);
      values.push_back(scalar<T>(node->children[i].second, path, expected_element, parse));
    }
  }

  std::vector<const ConfigNode*> stack_;
  std::vector<std::string> path_;
};

}  // namespace

struct ConfigSource::Impl {
  std::string name;
  ConfigNode root;
};

ConfigSource::ConfigSource(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ConfigSource::~ConfigSource() = default;
ConfigSource::ConfigSource(ConfigSource&&) noexcept = default;
ConfigSource& ConfigSource::operator=(ConfigSource&&) noexcept = default;

ConfigSource ConfigSource::from_text(const std::string& text, const std::string& name) {
  auto impl = std::make_unique<Impl>(Impl{name, parse_yaml(text, name)});
  const ConfigNode& root = impl->root;
  RETRO_CHECK(root.kind == Kind::kMap || root.kind == Kind::kNull,
              "{}: expected a block of keys, found {}", name, describe(root));
  return ConfigSource(std::move(impl));
}

ConfigSource ConfigSource::from_file(const std::filesystem::path& path) {
  return from_text(read_file(path), path.string());
}

void ConfigSource::apply_override(const std::string& assignment) {
  override_node(impl_->root, assignment);
}

std::string ConfigSource::location(std::string_view key) const {
  const ConfigNode* node = node_at(impl_->root, key);
  return node == nullptr ? impl_->name : node->where;
}

void ConfigSource::parse_with(const std::function<void(FieldVisitor&)>& visit) const {
  check_keys(impl_->root, schema_of(visit));
  Parser parser(impl_->root);
  visit(parser);
}

}  // namespace retro
