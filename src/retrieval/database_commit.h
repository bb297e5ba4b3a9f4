// How a state of the database takes the place of another.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "retro/retrieval/retrieval_database.h"

#include "database_format.h"

namespace retro {

/// A shard as the next manifest will list it.
struct ShardEntry {
  std::string name;
  database_format::ShardRecord record;
  int64_t first_chunk = 0;
};

/// The next state of a database.
struct DatabaseState {
  std::vector<ShardEntry> shards;
  std::vector<int64_t> deleted;  ///< document numbers, counted through `shards`, ascending
  int64_t next_chunk = 0;
  int64_t next_shard = 0;
};

/// The state as the manifest on disk has it.
DatabaseState current_state(const RetrievalDatabase& database,
                            const database_format::Manifest& manifest);

/// Writes the list of deleted documents and, last, the manifest under `manifest_name`.
database_format::Manifest write_state(const std::filesystem::path& directory,
                                      const database_format::Manifest& before,
                                      const DatabaseState& state, const std::string& manifest_name);

/// Removes shards, lists of deleted documents and manifests that `manifest` does not name, also
/// half-written ones. Other files stay.
void remove_unnamed_files(const std::filesystem::path& directory,
                          const database_format::Manifest& manifest);

}  // namespace retro
