// YAML in, YAML out, help text: the three users of `visit_fields`.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "retro/core/config.h"
#include "retro/core/error.h"

namespace retro {

/// A YAML document with "key.path=value" overrides applied, remembering file and line of every
/// node.
class ConfigSource {
 public:
  /// Throws Error naming file and line for YAML that does not parse.
  static ConfigSource from_file(const std::filesystem::path& path);
  static ConfigSource from_text(const std::string& text, const std::string& name = "<text>");
  ~ConfigSource();
  ConfigSource(ConfigSource&&) noexcept;
  ConfigSource& operator=(ConfigSource&&) noexcept;

  /// "train.steps=200"; the value is YAML ("neighbours=[1, 2]", "train={steps: 5}" replaces the
  /// block). Later ones win. List elements by index: "corpus.sources.0.path=x", the index after the
  /// last appends. `null` means the default. A name with dots stands in quotes:
  /// "weights.\"linux-6.1\"=2".
  void apply_override(const std::string& assignment);

  /// Fills `config`, starting from its defaults; a key without a value counts as absent; lists and
  /// maps are replaced, not merged. Errors name the key, the file and the line; an unknown key
  /// suggests the nearest one; a value of the wrong type says what was expected and what was found.
  template <ConfigStruct T>
  void parse(T& config) const {
    parse_with([&config](FieldVisitor& visitor) { config.visit_fields(visitor); });
  }

  /// Where `key` ("train.steps") was set: "configs/x.yaml:12" or "override `train.steps=0`"; the
  /// file's name if it was not. For messages about values that contradict each other.
  std::string location(std::string_view key) const;

 private:
  struct Impl;
  explicit ConfigSource(std::unique_ptr<Impl> impl);
  void parse_with(const std::function<void(FieldVisitor&)>& visit) const;
  std::unique_ptr<Impl> impl_;
};

std::string yaml_of(const std::function<void(FieldVisitor&)>& visit);
std::string help_of(const std::function<void(FieldVisitor&)>& visit);

/// The effective configuration; parses back to an equal struct.
template <ConfigStruct T>
std::string to_yaml(const T& config) {
  T copy = config;
  return yaml_of([&copy](FieldVisitor& visitor) { copy.visit_fields(visitor); });
}

/// Every key with its default and its help, nested keys in dotted form, aligned for a terminal.
template <ConfigStruct T>
std::string config_help(const T& defaults = T{}) {
  T copy = defaults;
  return help_of([&copy](FieldVisitor& visitor) { copy.visit_fields(visitor); });
}

/// The candidate with the smallest edit distance, or empty if none is near.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace retro
