#include "compaction.h"

#include <optional>
#include <utility>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/file_tree.h"
#include "retro/core/log.h"

#include "database_commit.h"
#include "index_format.h"
#include "shard_writer.h"

namespace retro {
namespace {

namespace fs = std::filesystem;
namespace format = database_format;

/// Goes through the shards in order: those that stay as they are, and runs of others, whose live
/// documents are written anew.
class ShardRewriter {
 public:
  ShardRewriter(const RetrievalDatabase& database, const format::Manifest& manifest,
                int64_t num_indexed, int64_t shard_chunks)
      : database_(database),
        manifest_(manifest),
        num_indexed_(num_indexed),
        shard_chunks_(shard_chunks),
        state_(current_state(database, manifest)) {}

  DatabaseState rewrite() {
    std::vector<ShardEntry> before = std::move(state_.shards);
    state_.shards.clear();
    state_.deleted.clear();
    for (int64_t s = 0; s < database_.num_shards(); ++s) {
      if (stays(s)) {
        write_documents();
        state_.shards.push_back(std::move(before[static_cast<size_t>(s)]));
      } else {
        take_documents(s);
      }
    }
    write_documents();
    return std::move(state_);
  }

 private:
  /// Indexed and nothing of it deleted.
  bool stays(int64_t shard) const {
    if (shard >= num_indexed_) return false;
    const int64_t end = database_.shard_first_document(shard + 1);
    for (int64_t d = database_.shard_first_document(shard); d < end; ++d) {
      if (database_.document(d).is_deleted) return false;
    }
    return true;
  }

  void take_documents(int64_t shard) {
    const int64_t end = database_.shard_first_document(shard + 1);
    for (int64_t d = database_.shard_first_document(shard); d < end; ++d) {
      if (database_.document(d).is_deleted) continue;
      documents_.push_back(d);
      num_chunks_ += database_.document(d).num_chunks;
      if (num_chunks_ >= shard_chunks_) write_documents();
    }
  }

  void write_documents() {
    if (documents_.empty()) return;
    ShardEntry shard{format::shard_name(state_.next_shard++),
                     {},
                     database_.document(documents_.front()).first_chunk};
    write_directory(database_.directory() / shard.name, [&](const fs::path& directory) {
      ShardWriter writer(directory, manifest_);
      for (const int64_t d : documents_) copy_document(database_, d, writer);
      shard.record = writer.finish();
    });
    state_.shards.push_back(std::move(shard));
    documents_.clear();
    num_chunks_ = 0;
  }

  const RetrievalDatabase& database_;
  const format::Manifest& manifest_;
  int64_t num_indexed_;
  int64_t shard_chunks_;
  DatabaseState state_;
  std::vector<int64_t> documents_;  ///< to be written next
  int64_t num_chunks_ = 0;
};

/// Shards the index in `directory` covers; nothing if there is none, or one of something else.
std::optional<int64_t> covered_shards(const fs::path& directory,
                                      const RetrievalDatabase& database) {
  if (!fs::exists(directory / index_format::kManifest)) return std::nullopt;
  const int64_t count =
      index_format::num_covered_shards(index_format::read_manifest(directory), database);
  return count < 0 ? std::nullopt : std::optional(count);
}

/// What killed builds left: they may hold what is being removed.
void remove_partial_builds(const DatabasePlace& place) {
  remove_tree(place.database.string() + ".partial");
  remove_tree(place.index.string() + ".partial");
}

}  // namespace

void remove_old_states(const DatabasePlace& place) {
  remove_leftovers_of(place.database);
  remove_leftovers_of(place.index);
  remove_leftovers_of(index_format::next_directory(place.index));
}

int64_t num_indexed_shards(const fs::path& directory, const RetrievalDatabase& database) {
  return covered_shards(directory, database).value_or(0);
}

void record_coverage(const fs::path& directory, const RetrievalDatabase& database) {
  if (!fs::exists(directory / index_format::kManifest)) return;
  index_format::Manifest manifest = index_format::read_manifest(directory);
  if (manifest.covers || manifest.database_version != database.version()) return;
  manifest.covers.emplace();
  for (int64_t shard = 0; shard < database.num_shards(); ++shard) {
    manifest.covers->push_back(database.shard_identity(shard));
  }
  index_format::write_manifest(directory, manifest);
}

void settle_index(const fs::path& directory, const RetrievalDatabase& database) {
  const fs::path next = index_format::next_directory(directory);
  if (!fs::exists(next)) return;
  if (!covered_shards(next, database)) return remove_tree(next);
  remove_tree(directory);
  rename_path(next, directory);
}

void write_compaction(const RetrievalDatabase& database, const format::Manifest& manifest,
                      const DatabasePlace& place, const CompactionSettings& settings) {
  remove_partial_builds(place);
  remove_old_states(place);
  const int64_t num_indexed = num_indexed_shards(place.index, database);
  if (num_indexed == database.num_shards() &&
      database.num_live_documents() == database.num_documents()) {
    log_info("{}: nothing to compact", place.database.string());
    return;
  }
  RETRO_CHECK(database.num_indexable() > 0,
              "{}: nothing would remain; to be rid of it all, remove the directory",
              place.database.string());
  const DatabaseState state =
      ShardRewriter(database, manifest, num_indexed, settings.shard_chunks).rewrite();
  write_state(place.database, manifest, state, format::kNextManifest);
  database.release_memory();  // the index is made from the next state, within the same budget
  RetrievalDatabase next(place.database, format::kNextManifest);
  next.set_memory_budget(settings.memory_budget);
  build_index(next, settings.index, settings.seed, settings.num_threads,
              index_format::next_directory(place.index));
  rename_path(place.database / format::kNextManifest, place.database / format::kManifest);
}

}  // namespace retro
