// A neighbour table on disk:
//
//   table.json       written last: format, database version, grid hash, exclusion, index used,
//   summary made_from.txt    hash of grid, keys, database version, index, exclusion and number of
//   neighbours ids.bin          array "nb-ids",       int64,   [rows, num_neighbours]; -1: missing
//   distances.bin    array "nb-distances", float32, [rows, num_neighbours]; squared L2, +inf where
//   missing
#pragma once

#include <filesystem>
#include <string>

#include "retro/core/array_file.h"
#include "retro/retrieval/neighbour_table.h"

namespace retro::table_format {

/// Part of the hash that names a table.
inline constexpr int64_t kVersion = 1;
/// Of table.json; version 1 is the same without a checksum.
inline constexpr int64_t kFileVersion = 2;
inline constexpr const char* kManifest = "table.json";
inline constexpr const char* kIds = "ids.bin";
inline constexpr const char* kDistances = "distances.bin";
inline constexpr const char* kRebuild = "run `retro neighbours` again";

struct Manifest {
  std::string made_from;
  std::string database_version;
  std::string grid_hash;
  std::string exclusion;
  std::string index;  ///< type, lists, probes and recall, for people
  int64_t num_neighbours = 0;
  NeighbourTableSummary summary;
  int64_t next_chunk = 0;      ///< of the database: later ids are not in the table; 0: not known
  std::string index_identity;  ///< empty: not known
};

void write_manifest(const std::filesystem::path& directory, const Manifest& manifest);
/// Throws Error for a missing, foreign or older table.
Manifest read_manifest(const std::filesystem::path& directory);

/// They refer to `made_from`.
ArrayFile::Expected expected_ids(const std::string& made_from, int64_t num_neighbours);
ArrayFile::Expected expected_distances(const std::string& made_from, int64_t num_neighbours);

}  // namespace retro::table_format
