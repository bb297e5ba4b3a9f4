#include "own_fields.h"

#include "retro/core/error.h"
#include "retro/core/json.h"

namespace retro {
namespace {

bool needs_mark(const std::string& name) { return name == "source" || name.starts_with(kOwnField); }

/// The name behind the mark, where fields_of_line put one; else empty.
std::string unmarked(const std::string& name) {
  if (!name.starts_with(kOwnField)) return {};
  const std::string rest = name.substr(std::string_view(kOwnField).size());
  return needs_mark(rest) ? rest : std::string{};
}

}  // namespace

nlohmann::json fields_of_line(const std::string& fields, const std::string& id) {
  auto line = nlohmann::json::object();
  const nlohmann::json own = parse_json(fields, "fields of " + id);
  for (const auto& [name, value] : own.items()) {
    line[needs_mark(name) ? kOwnField + name : name] = value;
  }
  return line;
}

std::string fields_to_store(const RawDocument& raw, bool names_source) {
  nlohmann::json stored = parse_json(raw.fields, "fields of " + raw.id);
  if (names_source) stored.erase("source");
  const std::string own_source = std::string(kOwnField) + "source";
  RETRO_CHECK(!stored.contains("source") || !stored.contains(own_source),
              "document {}: its `source` and its `{}` cannot both be the field `source`: leave out "
              "--source, or one of the two",
              raw.id, own_source);
  const nlohmann::json line = stored;
  for (const auto& [name, value] : line.items()) {
    if (!unmarked(name).empty()) stored.erase(name);
  }
  for (const auto& [name, value] : line.items()) {
    if (!unmarked(name).empty()) stored[unmarked(name)] = value;
  }
  return stored.dump();
}

}  // namespace retro
