// What the commands of a database print with --json.
#pragma once

#include <vector>

#include "retro/core/json.h"
#include "retro/run/database_facts.h"
#include "retro/run/database_life.h"

namespace retro {

nlohmann::json to_json(const DatabaseFacts& facts);
nlohmann::json to_json(const DatabaseChange& change);
nlohmann::json to_json(const DatabaseVerification& verification);
nlohmann::json to_json(const std::vector<RefreshedTable>& tables);
nlohmann::json to_json(const std::vector<SelectedDocument>& documents);

}  // namespace retro
