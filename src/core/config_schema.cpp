#include "config_schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config_scalar.h"

namespace retro {
namespace {

template <class T, class ToText>
std::string yaml_list(const std::vector<T>& values, ToText to_text) {
  std::vector<std::string> texts;
  for (const T& value : values) texts.push_back(to_text(value));
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

class SchemaCollector : public FieldVisitor {
 public:
  ConfigSchema take() { return std::move(stack_.front()); }

  void operator()(std::string_view name, bool& value, std::string_view help) override {
    add(name, "bool", value ? "true" : "false", help);
  }
  void operator()(std::string_view name, int64_t& value, std::string_view help) override {
    add(name, "int", std::to_string(value), help);
  }
  void operator()(std::string_view name, double& value, std::string_view help) override {
    add(name, "float", yaml_of_double(value), help);
  }
  void operator()(std::string_view name, std::string& value, std::string_view help) override {
    add(name, "text", yaml_of_string(value), help);
  }
  void operator()(std::string_view name, std::vector<int64_t>& value,
                  std::string_view help) override {
    add(name, "list of int", yaml_list(value, [](int64_t v) { return std::to_string(v); }), help);
  }
  void operator()(std::string_view name, std::vector<double>& value,
                  std::string_view help) override {
    add(name, "list of float", yaml_list(value, yaml_of_double), help);
  }
  void operator()(std::string_view name, std::vector<std::string>& value,
                  std::string_view help) override {
    add(name, "list of text", yaml_list(value, yaml_of_string), help);
  }
  void operator()(std::string_view name, std::map<std::string, double>& value,
                  std::string_view help) override {
    std::vector<std::string> texts;
    for (const auto& [key, number] : value) {
      texts.push_back(yaml_of_string(key) + ": " + yaml_of_double(number));
    }
    add(name, "map of float", fmt::format("{{{}}}", fmt::join(texts, ", ")), help);
  }
  void choice(std::string_view name, std::string& value, const std::vector<std::string>& choices,
              std::string_view help) override {
    add(name, fmt::format("{}", fmt::join(choices, "|")), yaml_of_string(value), help);
  }

 protected:
  bool begin_struct(std::string_view name, std::string_view help) override {
    stack_.push_back(
        {std::string(name), ConfigSchema::Kind::kBlock, "", "", std::string(help), {}});
    return true;
  }
  void end_struct() override { pop(); }
  int64_t begin_list(std::string_view name, int64_t current, std::string_view help) override {
    stack_.push_back({std::string(name),
                      ConfigSchema::Kind::kList,
                      "list",
                      current == 0 ? "[]" : fmt::format("{} elements", current),
                      std::string(help),
                      {}});
    return 0;
  }
  void begin_element(int64_t) override {}
  void end_element() override {}
  void end_list() override { pop(); }
  bool documents_element() const override { return true; }

 private:
  void add(std::string_view name, std::string type, std::string default_text,
           std::string_view help) {
    stack_.back().children.push_back({std::string(name),
                                      ConfigSchema::Kind::kValue,
                                      std::move(type),
                                      std::move(default_text),
                                      std::string(help),
                                      {}});
  }
  void pop() {
    ConfigSchema finished = std::move(stack_.back());
    stack_.pop_back();
    stack_.back().children.push_back(std::move(finished));
  }

  std::vector<ConfigSchema> stack_{ConfigSchema{"", ConfigSchema::Kind::kBlock, "", "", "", {}}};
};

}  // namespace

const ConfigSchema* ConfigSchema::find(std::string_view wanted) const {
  for (const ConfigSchema& child : children) {
    if (child.name == wanted) return &child;
  }
  return nullptr;
}

ConfigSchema schema_of(const std::function<void(FieldVisitor&)>& visit) {
  SchemaCollector collector;
  visit(collector);
  return collector.take();
}

}  // namespace retro
