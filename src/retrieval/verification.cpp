#include "retro/retrieval/verification.h"

#include "retro/core/bundle.h"
#include "retro/core/error.h"
#include "retro/core/hash.h"

#include "index_format.h"
#include "resumable_directory.h"
#include "table_format.h"

namespace retro {

namespace fs = std::filesystem;

void verify_index(const fs::path& where) {
  // A compaction may have been cut off before it put its index in place.
  const bool is_in_place = path_exists(where / index_format::kManifest);
  const fs::path directory = is_in_place ? where : index_format::next_directory(where);
  const auto verify_file = [&](const std::string& name, const std::string& expected) {
    const fs::path path = directory / name;
    RETRO_CHECK(hash_file(path) == expected, "{}: the content does not match its hash; {}",
                path.string(), index_format::kRebuild);
  };
  verify_identity_file(directory);
  const index_format::Manifest manifest = index_format::read_manifest(directory);
  if (!manifest.trained_hash.empty()) verify_file(index_format::kTrained, manifest.trained_hash);
  for (const index_format::ShardFile& shard : manifest.shards) verify_file(shard.name, shard.hash);
}

std::string verify_neighbour_table(const fs::path& directory, const std::string& grid_hash) {
  verify_identity_file(directory);
  std::string version = table_format::read_manifest(directory).database_version;
  NeighbourTable(directory, version, grid_hash).verify();
  return version;
}

void verify_grid_keys(const GridKeys& keys) {
  verify_identity_file(keys.keys.path().parent_path());
  keys.keys.verify();
  keys.has_key.verify();
}

}  // namespace retro
