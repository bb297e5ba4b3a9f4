#include "retro/retrieval/database_writer.h"

#include <algorithm>
#include <set>
#include <utility>

#include "retro/core/error.h"
#include "retro/core/file_tree.h"
#include "retro/core/log.h"
#include "retro/core/progress.h"
#include "retro/retrieval/writer_lock.h"

#include "compaction.h"
#include "database_commit.h"
#include "document_adder.h"
#include "index_format.h"
#include "own_fields.h"
#include "shard_writer.h"

namespace retro {
namespace {

namespace fs = std::filesystem;
namespace format = database_format;

/// Of documents whose line does not name it.
std::string source_of_others(const Addition& addition) {
  return addition.source.empty() ? "added" : addition.source;
}

void check_recipe(const RetrievalDatabase& database, const Tokenizer& tokenizer,
                  const ChunkEmbedder& embedder) {
  const std::string name = database.directory().string();
  RETRO_CHECK(tokenizer.identity() == database.tokenizer_identity(),
              "{}: made with the tokenizer {}, not with {}; add with the tokenizer of the database",
              name, database.tokenizer_identity(), tokenizer.identity());
  RETRO_CHECK(
      embedder.identity() == database.embedder_identity(),
      "{}: its keys come from the embedder {}, new ones would come from {}; set embed.model "
      "and embed.precision to those of the database",
      name, database.embedder_identity(), embedder.identity());
}

}  // namespace

class DatabaseWriter::Impl {
 public:
  explicit Impl(DatabasePlace place)
      : place_(std::move(place)), lock_(lock_database(place_.database)) {
    remove_old_states(place_);
    reopen();
    settle_index(place_.index, *database_);
    record_coverage(place_.index, *database_);
    remove_unnamed_files(place_.database, manifest_);
  }

  const RetrievalDatabase& database() const { return *database_; }

  DatabaseChange add(const Addition& addition, const Tokenizer& tokenizer,
                     ChunkEmbedder& embedder) {
    check_recipe(*database_, tokenizer, embedder);
    DatabaseState state = current_state(*database_, manifest_);
    Replacement replaced;
    ShardEntry shard{format::shard_name(state.next_shard++), {}, state.next_chunk};
    write_directory(place_.database / shard.name, [&](const fs::path& directory) {
      ShardWriter writer(directory, manifest_);
      DocumentAdder adder(tokenizer, embedder, database_->chunk_length(), state.next_chunk, writer);
      add_documents(addition, adder, replaced);
      state.next_chunk = adder.next_chunk();
      shard.record = writer.finish();
    });
    const DatabaseChange change{.documents_added = shard.record.num_documents,
                                .chunks_added = shard.record.num_chunks,
                                .documents_deleted = std::ssize(replaced.documents),
                                .chunks_deleted = num_chunks_of(replaced.documents),
                                .documents_emptied = replaced.num_emptied};
    if (change.documents_added == 0) {
      remove_tree(place_.database / shard.name);
      if (change.documents_deleted == 0) return change;
    } else {
      state.shards.push_back(std::move(shard));
    }
    add_deleted(replaced.documents, state);
    commit(state);
    // What was added is there, whatever becomes of this.
    try {
      merge_small_shards();
    } catch (const Error& error) {
      log_warning("small additions are not joined: {}", error.what());
    }
    return change;
  }

  DatabaseChange remove(std::span<const int64_t> documents) {
    if (documents.empty()) return {};
    const std::set<int64_t> unique(documents.begin(), documents.end());
    const std::vector<int64_t> removed(unique.begin(), unique.end());
    for (const int64_t d : removed) {
      RETRO_CHECK(d >= 0 && d < database_->num_documents() && !database_->document(d).is_deleted,
                  "{}: document number {} of {} does not exist or is deleted",
                  place_.database.string(), d, database_->num_documents());
    }
    const DatabaseChange change{.documents_deleted = static_cast<int64_t>(removed.size()),
                                .chunks_deleted = num_chunks_of(removed)};
    DatabaseState state = current_state(*database_, manifest_);
    add_deleted(removed, state);
    commit(state);
    return change;
  }

  void compact(const CompactionSettings& settings) {
    database_->set_memory_budget(settings.memory_budget);
    write_compaction(*database_, manifest_, place_, settings);
    reopen();
    settle_index(place_.index, *database_);
    remove_unnamed_files(place_.database, manifest_);
  }

 private:
  /// What an addition takes the place of.
  struct Replacement {
    std::vector<int64_t> documents;
    int64_t num_emptied = 0;  ///< of them: nothing takes their place
  };

  void reopen() {
    manifest_ = format::read_manifest(place_.database);
    database_ = std::make_unique<RetrievalDatabase>(place_.database);
  }

  void add_documents(const Addition& addition, DocumentAdder& adder, Replacement& replaced) const {
    std::set<std::pair<std::string, std::string>> names;
    int64_t num_empty = 0;
    addition.documents([&](RawDocument&& raw) {
      const bool names_source = addition.source.empty() && !raw.source.empty();
      const std::string source = names_source ? raw.source : source_of_others(addition);
      RETRO_CHECK(names.emplace(source, raw.id).second, "document {} of source {} comes twice",
                  raw.id, source);
      const int64_t present = database_->find_document(source, raw.id);
      RETRO_CHECK(present < 0 || addition.replaces_present,
                  "{}: document {} of source {} is already there; use `retro database update` to "
                  "replace it",
                  place_.database.string(), raw.id, source);
      if (present >= 0) replaced.documents.push_back(present);
      if (raw.text.empty()) {
        ++num_empty;
        if (present >= 0) ++replaced.num_emptied;
        return;
      }
      adder.add(raw, source, fields_to_store(raw, names_source));
    });
    adder.finish();
    if (num_empty > 0) log_warning("{} documents without text are left out", num_empty);
  }

  int64_t num_chunks_of(const std::vector<int64_t>& documents) const {
    int64_t sum = 0;
    for (const int64_t d : documents) sum += database_->document(d).num_chunks;
    return sum;
  }

  static void add_deleted(const std::vector<int64_t>& documents, DatabaseState& state) {
    state.deleted.insert(state.deleted.end(), documents.begin(), documents.end());
    std::ranges::sort(state.deleted);
  }

  void commit(const DatabaseState& state) {
    write_state(place_.database, manifest_, state, format::kManifest);
    reopen();
    remove_unnamed_files(place_.database, manifest_);
  }

  int64_t num_rows_of(int64_t shard) const {
    return database_->shard_first_row(shard + 1) - database_->shard_first_row(shard);
  }

  /// First of the shards at the end that are worth joining: each is at most twice as large as all
  /// that follow it, so a chunk is copied a logarithmic number of times.
  int64_t first_small_shard() const {
    const int64_t first_free = num_indexed_shards(place_.index, *database_);
    int64_t shard = database_->num_shards() - 1;
    int64_t following = num_rows_of(shard);
    while (shard > first_free && num_rows_of(shard - 1) <= 2 * following) {
      following += num_rows_of(--shard);
    }
    return shard;
  }

  void merge_small_shards() {
    const int64_t first = first_small_shard();
    if (first >= database_->num_shards() - 1) return;
    DatabaseState state = current_state(*database_, manifest_);
    const int64_t first_document = database_->shard_first_document(first);
    ShardEntry merged{
        format::shard_name(state.next_shard++), {}, database_->shard_first_chunk(first)};
    write_directory(place_.database / merged.name, [&](const fs::path& directory) {
      ShardWriter writer(directory, manifest_);
      for (int64_t d = first_document; d < database_->num_documents(); ++d) {
        if (!database_->document(d).is_deleted) copy_document(*database_, d, writer);
      }
      merged.record = writer.finish();
    });
    state.shards.resize(static_cast<size_t>(first));
    state.shards.push_back(std::move(merged));
    std::erase_if(state.deleted, [&](int64_t d) { return d >= first_document; });
    commit(state);
  }

  DatabasePlace place_;
  FileLock lock_;
  format::Manifest manifest_;
  std::unique_ptr<RetrievalDatabase> database_;
};

DatabaseWriter::DatabaseWriter(DatabasePlace place)
    : impl_(std::make_unique<Impl>(std::move(place))) {}
DatabaseWriter::~DatabaseWriter() = default;
DatabaseWriter::DatabaseWriter(DatabaseWriter&&) noexcept = default;

const RetrievalDatabase& DatabaseWriter::database() const { return impl_->database(); }

DatabaseChange DatabaseWriter::add(const Addition& addition, const Tokenizer& tokenizer,
                                   ChunkEmbedder& embedder) {
  return impl_->add(addition, tokenizer, embedder);
}

DatabaseChange DatabaseWriter::remove(std::span<const int64_t> documents) {
  return impl_->remove(documents);
}

void DatabaseWriter::compact(const CompactionSettings& settings) { impl_->compact(settings); }

}  // namespace retro
