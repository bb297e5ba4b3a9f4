// What a run's database holds.
#pragma once

#include <cstdint>
#include <string>

#include "retro/run/run_config.h"

namespace retro {

struct DatabaseFacts {
  int64_t num_chunks = 0;     ///< that can be found
  int64_t num_documents = 0;  ///< likewise
  int64_t chunk_length = 0;   ///< tokens
  int64_t key_width = 0;      ///< features
  std::string key_storage;
  std::string embedder;  ///< its identity
  std::string index_type;
  double recall_at_10 = 0;            ///< when the index was built; NaN: not measured
  int64_t num_added_chunks = 0;       ///< since then, scanned beside the index
  int64_t num_deleted_documents = 0;  ///< still on disk
  uint64_t database_bytes = 0;
  uint64_t index_bytes = 0;
  std::string version;      ///< of the content
  int64_t num_changes = 0;  ///< since the build
};

DatabaseFacts database_facts(const RunConfig& config);
/// Several lines for a person.
std::string format_facts(const DatabaseFacts& facts);
std::string describe_database(const RunConfig& config);

}  // namespace retro
