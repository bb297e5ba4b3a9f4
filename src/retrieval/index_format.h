// An index on disk:
//
//   index.json               written last: format, database version, report, list of shards with
//   their hashes made_from.txt            hash of database version, config and seed trained.faiss
//   the empty index: centroids and codebooks lists_000000.faiss       the filled lists of database
//   shard 0, ids = chunk ids (FAISS 1.7.3's own format)
//
// An index of type "exact" has neither: it reads the keys of the database.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "retro/retrieval/neighbour_index.h"

namespace retro::index_format {

inline constexpr int64_t kVersion = 1;
inline constexpr const char* kManifest = "index.json";
inline constexpr const char* kTrained = "trained.faiss";
inline constexpr const char* kRebuild = "run `retro database index` again";

struct ShardFile {
  std::string name;
  std::string hash;
};

struct Manifest {
  std::string database_version;
  IndexReport report;
  std::vector<ShardFile> shards;
};

void write_manifest(const std::filesystem::path& directory, const Manifest& manifest);
/// Throws Error for a missing, foreign or older index.
Manifest read_manifest(const std::filesystem::path& directory);

}  // namespace retro::index_format
