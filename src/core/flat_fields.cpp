#include "retro/core/flat_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace retro {

namespace {

/// Collects every leaf under its dotted name.
class FlatVisitor final : public FieldVisitor {
 public:
  using FieldVisitor::operator();
  void operator()(std::string_view name, bool& value, std::string_view) override {
    add(name, value);
  }
  void operator()(std::string_view name, int64_t& value, std::string_view) override {
    add(name, value);
  }
  void operator()(std::string_view name, double& value, std::string_view) override {
    add(name, value);
  }
  void operator()(std::string_view name, std::string& value, std::string_view) override {
    add(name, value);
  }
  void operator()(std::string_view name, std::vector<int64_t>& value, std::string_view) override {
    add(name, fmt::format("[{}]", fmt::join(value, ", ")));
  }
  void operator()(std::string_view name, std::vector<double>& value, std::string_view) override {
    add(name, fmt::format("[{}]", fmt::join(value, ", ")));
  }
  void operator()(std::string_view name, std::vector<std::string>& value,
                  std::string_view) override {
    add(name, fmt::format("[{}]", fmt::join(value, ", ")));
  }
  void operator()(std::string_view name, std::map<std::string, double>& value,
                  std::string_view) override {
    for (auto& [key, number] : value) add(fmt::format("{}.{}", name, key), number);
  }
  void choice(std::string_view name, std::string& value, const std::vector<std::string>&,
              std::string_view) override {
    add(name, value);
  }

  FlatFields fields;

 private:
  template <class T>
  void add(std::string_view name, const T& value) {
    fields[path() + std::string(name)] = fmt::format("{}", value);
  }
  std::string path() const {
    std::string joined;
    for (const std::string& part : prefix_) joined += part + ".";
    return joined;
  }
  bool begin_struct(std::string_view name, std::string_view) override {
    prefix_.emplace_back(name);
    return true;
  }
  void end_struct() override { prefix_.pop_back(); }
  int64_t begin_list(std::string_view name, int64_t current, std::string_view) override {
    prefix_.emplace_back(name);
    return current;
  }
  void begin_element(int64_t index) override { prefix_.push_back(fmt::format("{}", index)); }
  void end_element() override { prefix_.pop_back(); }
  void end_list() override { prefix_.pop_back(); }

  std::vector<std::string> prefix_;
};

}  // namespace

FlatFields flat_fields_of(const std::function<void(FieldVisitor&)>& visit) {
  FlatVisitor visitor;
  visit(visitor);
  return std::move(visitor.fields);
}

std::vector<std::string> differing_keys(const FlatFields& before, const FlatFields& now) {
  FlatFields all = before;
  all.insert(now.begin(), now.end());
  std::vector<std::string> keys;
  for (const auto& [key, unused] : all) {
    const auto old_place = before.find(key);
    const auto new_place = now.find(key);
    const bool is_equal = old_place != before.end() && new_place != now.end() &&
                          old_place->second == new_place->second;
    if (!is_equal) keys.push_back(key);
  }
  return keys;
}

std::string text_of_changes(const FlatFields& fields, const FlatFields& defaults) {
  std::string text;
  for (const std::string& key : differing_keys(defaults, fields)) {
    const auto found = fields.find(key);
    text += fmt::format("{}: {}\n", key, found == fields.end() ? "not set" : found->second);
  }
  return text;
}

}  // namespace retro
