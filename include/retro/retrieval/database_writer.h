// Changing a retrieval database: documents come and go, ids never move.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "retro/embed/chunk_embedder.h"
#include "retro/retrieval/database_place.h"
#include "retro/retrieval/neighbour_index.h"
#include "retro/retrieval/retrieval_database.h"
#include "retro/text/corpus_reader.h"
#include "retro/text/tokenizer.h"

namespace retro {

/// Hands every document to its argument.
using DocumentStream = std::function<void(const std::function<void(RawDocument&&)>& sink)>;

/// What is added, and where it belongs: source and id are a document's name.
struct Addition {
  DocumentStream documents;
  std::string source;             ///< of all; empty: what a document's line says, else "added"
  bool replaces_present = false;  ///< else a document that is there is an Error
};

/// What a change did. Chunks added have the highest ids.
struct DatabaseChange {
  int64_t documents_added = 0;
  int64_t chunks_added = 0;
  int64_t documents_deleted = 0;
  int64_t chunks_deleted = 0;
  int64_t documents_emptied = 0;  ///< of those deleted: what was to replace them has no text
};

/// What a compaction is made with; the index part is that of `build_index`.
struct CompactionSettings {
  IndexConfig index;
  uint64_t seed = 0;
  int num_threads = 1;
  int64_t shard_chunks = 1 << 20;
  MemoryBudget memory_budget = {};
};

/// The one writer of a database. Each call that returns has happened, durably, and every reader
/// that opens the database from then on sees it; a call that a kill cuts off has not happened at
/// all. A change writes new files beside the old ones and replaces the manifest in one step, so
/// readers need no lock and keep the state they opened.
class DatabaseWriter {
 public:
  /// Takes `DATABASE.lock`, finishes or clears away what a killed writer left. Throws Error while
  /// another writer lives.
  explicit DatabaseWriter(DatabasePlace place);
  ~DatabaseWriter();
  DatabaseWriter(DatabaseWriter&&) noexcept;

  /// The newest state; another object after every change.
  const RetrievalDatabase& database() const;

  /// Cuts, embeds and stores the documents; searches scan them exactly until the next compaction.
  /// All of them appear at once. Refuses another tokenizer or embedder than the database's.
  /// Documents without text are left out, and those they replace deleted. Small additions are
  /// merged, so that few shards remain.
  DatabaseChange add(const Addition& addition, const Tokenizer& tokenizer, ChunkEmbedder& embedder);

  /// Documents by number, as in database(): gone from every answer at once, from disk at the next
  /// compaction.
  DatabaseChange remove(std::span<const int64_t> documents);

  /// Writes what remains without the deleted documents, builds the index anew from it (so that no
  /// centroid or code remembers them), and removes the old files. Does nothing where nothing has
  /// changed. Refuses to leave an empty database.
  void compact(const CompactionSettings& settings);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Throws Error where the database in `directory` was changed after it was built: building another
/// one in its place would lose what was added and bring back what was deleted. Where the manifest
/// cannot be read, the other files tell. What is missing passes.
void refuse_to_undo_changes(const std::filesystem::path& directory);

}  // namespace retro
