// The effective configuration as YAML.
#include "retro/core/config_yaml.h"

#include "config_scalar.h"
#include "config_schema.h"

namespace retro {
namespace {

/// Writes every field, two spaces a level; the texts of values are those of the schema.
class YamlPrinter : public FieldVisitor {
 public:
  std::string take() { return std::move(text_); }

  void operator()(std::string_view name, bool& value, std::string_view help) override {
    print(name, value, help);
  }
  void operator()(std::string_view name, int64_t& value, std::string_view help) override {
    print(name, value, help);
  }
  void operator()(std::string_view name, double& value, std::string_view help) override {
    print(name, value, help);
  }
  void operator()(std::string_view name, std::string& value, std::string_view help) override {
    print(name, value, help);
  }
  void operator()(std::string_view name, std::vector<int64_t>& value,
                  std::string_view help) override {
    print(name, value, help);
  }
  void operator()(std::string_view name, std::vector<double>& value,
                  std::string_view help) override {
    print(name, value, help);
  }
  void operator()(std::string_view name, std::vector<std::string>& value,
                  std::string_view help) override {
    print(name, value, help);
  }
  void operator()(std::string_view name, std::map<std::string, double>& value,
                  std::string_view help) override {
    print(name, value, help);
  }
  void choice(std::string_view name, std::string& value, const std::vector<std::string>&,
              std::string_view) override {
    line(name, yaml_of_string(value));
  }

 protected:
  bool begin_struct(std::string_view name, std::string_view) override {
    begin_block(name);
    return true;
  }
  void end_struct() override { end_block(); }
  int64_t begin_list(std::string_view name, int64_t current, std::string_view) override {
    if (current == 0) {
      line(name, "[]");
      return -1;
    }
    begin_block(name);
    return current;
  }
  void begin_element(int64_t) override {
    is_element_begun_ = true;
    ++depth_;
  }
  void end_element() override {
    // An element without fields has printed nothing yet.
    if (is_element_begun_) text_ += indent() + "{}\n";
    is_element_begun_ = false;
    --depth_;
  }
  void end_list() override { end_block(); }

 private:
  template <class T>
  void print(std::string_view name, T& value, std::string_view help) {
    const ConfigSchema field = schema_of([&](FieldVisitor& visit) { visit(name, value, help); });
    line(name, field.children.front().default_text);
  }
  /// "    ", or "  - " on the first line of a list element.
  std::string indent() {
    std::string spaces(static_cast<size_t>(2 * depth_), ' ');
    if (is_element_begun_) spaces.replace(spaces.size() - 2, 2, "- ");
    is_element_begun_ = false;
    return spaces;
  }
  void line(std::string_view name, std::string_view value) {
    text_ += indent();
    text_.append(name).append(":");
    if (!value.empty()) text_.append(" ").append(value);
    text_ += "\n";
  }
  void begin_block(std::string_view name) {
    line(name, "");
    ++depth_;
  }
  void end_block() { --depth_; }

  std::string text_;
  int depth_ = 0;
  bool is_element_begun_ = false;
};

}  // namespace

std::string yaml_of(const std::function<void(FieldVisitor&)>& visit) {
  YamlPrinter printer;
  visit(printer);
  return printer.take();
}

}  // namespace retro
