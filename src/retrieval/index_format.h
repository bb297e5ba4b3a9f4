// An index on disk:
//
//   index.json               written last: format, database version, report, list of shards with
//                            their hashes, and the database shards they were made from
//   made_from.txt            hash of database version, config and seed
//   rotation.bin             of an index of type "ivf_pq": array "index-rotation", float32, [padded
//                            key width]^2: row i is where feature i of a padded key goes
//   trained.faiss            the empty index: centroids and codebooks
//   lists_000000.faiss       the filled lists of database shard 0, ids = chunk ids (FAISS 1.7.3's
//                            own format)
//
// An index of type "exact" has none of them: it reads the keys of the database.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "retro/retrieval/neighbour_index.h"

#include "key_transform.h"

namespace retro::index_format {

/// Version 1 had neither rotation nor graph, four features a code, and no checksum.
inline constexpr int64_t kVersion = 2;
inline constexpr int64_t kOldestVersion = 1;
inline constexpr const char* kManifest = "index.json";
inline constexpr const char* kRotation = "rotation.bin";
inline constexpr const char* kTrained = "trained.faiss";
inline constexpr const char* kRebuild = "run `retro database build` again";

struct ShardFile {
  std::string name;
  std::string hash;
};

struct Manifest {
  std::string database_version;
  IndexReport report;
  std::vector<ShardFile> shards;
  std::string trained_hash = {};  ///< of trained.faiss; empty: not known, or none
  /// Identities of the database shards the lists were made from. Missing in an index of older
  /// programs, which covers all shards of its database version.
  std::optional<std::vector<std::string>> covers = {};
};

void write_manifest(const std::filesystem::path& directory, const Manifest& manifest);
/// Throws Error for a missing, foreign or older index.
Manifest read_manifest(const std::filesystem::path& directory);

/// What keys go through on their way into the lists. Throws Error where its file is damaged.
KeyTransform read_transform(const std::filesystem::path& directory, const Manifest& manifest,
                            int64_t key_width);

/// Where a compaction puts an index before it takes the place of the one in `directory`.
std::filesystem::path next_directory(const std::filesystem::path& directory);
/// How many shards of the database, from the first, the index covers; -1 if it covers others.
int64_t num_covered_shards(const Manifest& manifest, const RetrievalDatabase& database);

}  // namespace retro::index_format
