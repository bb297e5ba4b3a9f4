// A configuration as a list of "key.path" = value, for comparing two of them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "retro/core/config.h"

namespace retro {

using FlatFields = std::map<std::string, std::string>;

FlatFields flat_fields_of(const std::function<void(FieldVisitor&)>& visit);

template <ConfigStruct T>
FlatFields flat_fields(const T& config) {
  T copy = config;
  return flat_fields_of([&copy](FieldVisitor& visitor) { copy.visit_fields(visitor); });
}

/// Keys whose values differ or that stand on one side only.
std::vector<std::string> differing_keys(const FlatFields& before, const FlatFields& now);

/// A line "key: value" for each key of `fields` that is not as in `defaults`, sorted by key.
std::string text_of_changes(const FlatFields& fields, const FlatFields& defaults);

/// A configuration without the keys that have their default: a key that is new in the program, or
/// written out, leaves the text as it was.
template <ConfigStruct T>
std::string changes_text(const T& config) {
  return text_of_changes(flat_fields(config), flat_fields(T{}));
}

}  // namespace retro
