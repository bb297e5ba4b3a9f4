#include "database_commit.h"

#include <algorithm>

#include "retro/core/file_tree.h"
#include "retro/core/hash.h"

namespace retro {
namespace {

namespace fs = std::filesystem;
namespace format = database_format;

void write_deleted(const fs::path& directory, const std::vector<int64_t>& deleted,
                   format::Manifest& manifest) {
  manifest.deleted.clear();
  manifest.deleted_hash.clear();
  if (deleted.empty()) return;
  manifest.deleted = format::deleted_name(manifest.generation);
  ArrayFileWriter file(directory / manifest.deleted,
                       format::header_of(format::expected_deleted(manifest)));
  file.append(std::span<const int64_t>(deleted));
  file.commit();
  manifest.deleted_hash = hash_file(directory / manifest.deleted);
}

bool is_of_the_database(const std::string& name) {
  return name.starts_with("shard_") || name.starts_with("deleted_") ||
         name.starts_with("manifest.");
}

}  // namespace

DatabaseState current_state(const RetrievalDatabase& database, const format::Manifest& manifest) {
  DatabaseState state;
  for (int64_t s = 0; s < database.num_shards(); ++s) {
    const std::string& name = manifest.shards[static_cast<size_t>(s)];
    state.shards.push_back(
        {name, format::read_shard(database.directory() / name), database.shard_first_chunk(s)});
  }
  for (int64_t d = 0; d < database.num_documents(); ++d) {
    if (database.document(d).is_deleted) state.deleted.push_back(d);
  }
  state.next_chunk = database.num_chunks();
  state.next_shard = manifest.generation > 0 ? manifest.next_shard : database.num_shards();
  return state;
}

format::Manifest write_state(const fs::path& directory, const format::Manifest& before,
                             const DatabaseState& state, const std::string& manifest_name) {
  format::Manifest manifest = before;
  ++manifest.generation;
  manifest.history.push_back(before.version);
  if (manifest.history.size() > format::kLongestHistory) {
    manifest.history.erase(manifest.history.begin());
  }
  manifest.next_chunk = state.next_chunk;
  manifest.next_shard = state.next_shard;
  manifest.shards.clear();
  manifest.first_chunks.clear();
  std::vector<format::ShardRecord> records;
  for (const ShardEntry& shard : state.shards) {
    manifest.shards.push_back(shard.name);
    manifest.first_chunks.push_back(shard.first_chunk);
    records.push_back(shard.record);
  }
  write_deleted(directory, state.deleted, manifest);
  manifest.version = format::content_version(manifest, records);
  format::write_manifest(directory, manifest, manifest_name);
  return manifest;
}

void remove_unnamed_files(const fs::path& directory, const format::Manifest& manifest) {
  std::vector<fs::path> leftovers;
  for (const auto& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    const bool is_named = name == format::kManifest || name == manifest.deleted ||
                          std::ranges::count(manifest.shards, name) > 0;
    if (is_of_the_database(name) && !is_named) leftovers.push_back(entry.path());
  }
  for (const fs::path& leftover : leftovers) remove_tree(leftover);
}

}  // namespace retro
