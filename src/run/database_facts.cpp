#include "retro/run/database_facts.h"

#include "retro/core/file_tree.h"
#include "retro/core/progress.h"
#include "retro/retrieval/live_database.h"
#include "retro/run/database_life.h"

namespace retro {

DatabaseFacts database_facts(const RunConfig& config) {
  const DatabasePlace place = database_place(config);
  LiveDatabase live(place);
  const auto snapshot = live.newest();
  const RetrievalDatabase& database = *snapshot->database;
  const NeighbourIndex& index = *snapshot->index;
  return {.num_chunks = database.num_live_chunks(),
          .num_documents = database.num_live_documents(),
          .chunk_length = database.chunk_length(),
          .key_width = database.key_width(),
          .key_storage = database.key_storage(),
          .embedder = database.embedder_identity(),
          .index_type = index.report().type,
          .recall_at_10 = index.report().recall_at_10,
          .num_added_chunks =
              database.num_rows() - database.shard_first_row(index.num_covered_shards()),
          .num_deleted_documents = database.num_documents() - database.num_live_documents(),
          .database_bytes = tree_size_bytes(place.database),
          .index_bytes = index_size_bytes(place.index),
          .version = database.version(),
          .num_changes = database.generation()};
}

std::string format_facts(const DatabaseFacts& facts) {
  const bool is_settled = facts.num_added_chunks + facts.num_deleted_documents == 0;
  return fmt::format(
      "{} chunks of {} tokens, {} documents, keys of {} features ({})\n"
      "index: {}, recall@10 {} when built\n"
      "since then: {} chunks added, {} documents deleted and still on disk{}\n"
      "on disk: database {}, index {}\n"
      "version {}, {} changes since the build\nkeys by {}\n",
      format_count(facts.num_chunks), facts.chunk_length, format_count(facts.num_documents),
      facts.key_width, facts.key_storage, facts.index_type, format_recall(facts.recall_at_10),
      format_count(facts.num_added_chunks), format_count(facts.num_deleted_documents),
      is_settled ? "" : " (`retro database compact` settles both)",
      format_bytes(facts.database_bytes), format_bytes(facts.index_bytes), facts.version,
      facts.num_changes, facts.embedder);
}

std::string describe_database(const RunConfig& config) {
  return format_facts(database_facts(config));
}

}  // namespace retro
