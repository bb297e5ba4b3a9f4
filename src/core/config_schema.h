// The tree of names, types, defaults and helps that `visit_fields` describes; internal to core.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "retro/core/config.h"

#include "config_node.h"

namespace retro {

struct ConfigSchema {
  enum class Kind { kValue, kBlock, kList };

  std::string name;
  Kind kind = Kind::kValue;
  std::string type;          ///< "int", "float32|bfloat16"
  std::string default_text;  ///< as YAML
  std::string help;
  std::vector<ConfigSchema> children;  ///< of a block, or of one element of a list

  const ConfigSchema* find(std::string_view wanted) const;
};

/// Runs `visit` with a visitor that only looks.
ConfigSchema schema_of(const std::function<void(FieldVisitor&)>& visit);

/// Throws Error for the first key of `root` that `schema` does not have, with the nearest it has.
void check_keys(const ConfigNode& root, const ConfigSchema& schema);

}  // namespace retro
