// verify_database and describe_database: see database_life.h.
#include "retro/core/bundle.h"
#include "retro/core/error.h"
#include "retro/core/file_tree.h"
#include "retro/core/log.h"
#include "retro/core/progress.h"
#include "retro/retrieval/live_database.h"
#include "retro/retrieval/verification.h"
#include "retro/run/database_life.h"
#include "retro/run/neighbour_sets.h"

namespace retro {
namespace {

namespace fs = std::filesystem;

/// Returns how many are of an older state of the database.
int64_t verify_tables(const RunConfig& config, const RetrievalDatabase& database) {
  const RunPaths paths(config);
  if (!fs::exists(paths.corpus())) return 0;
  const TokenCorpus corpus(paths.corpus());
  std::vector<NeighbourSet> sets = training_neighbour_sets(config);
  for (NeighbourSet& set : evaluation_neighbour_sets(config)) sets.push_back(std::move(set));
  int64_t num_stale = 0;
  for (const NeighbourSet& set : sets) {
    const fs::path folder = paths.neighbours(set.name);
    if (!fs::exists(folder)) continue;
    const ChunkGrid grid = grid_of(set, corpus, config.database.chunk_length);
    const std::string version = verify_neighbour_table(folder, grid.hash());
    verify_grid_keys(open_grid_keys(grid, database, folder.parent_path() / keys_folder(set)));
    const bool is_stale = version != database.version();
    num_stale += is_stale ? 1 : 0;
    log_info("neighbours {}: whole{}", set.name, is_stale ? ", of an older database" : "");
  }
  return num_stale;
}

}  // namespace

int64_t verify_database(const RunConfig& config) {
  if (is_bundle(config.directory)) {
    Bundle(config.directory).verify();
    log_info("bundle: every byte as written");
  }
  LiveDatabase live(database_place(config), MemoryBudget::parse(config.database.memory_budget));
  const auto snapshot = live.newest();
  snapshot->database->verify();
  log_info("database: {} chunks of {} documents, every byte as written",
           format_count(snapshot->database->num_live_chunks()),
           format_count(snapshot->database->num_live_documents()));
  const OperatingPoint point =
      measure_recall(*snapshot->index, config.index.recall_queries,
                     static_cast<uint64_t>(config.seed), run_threads(config));
  verify_index(database_place(config).index);
  log_info("index: {}, every byte as written; recall@10 {} now, {} when built",
           snapshot->index->report().type, format_recall(point.recall_at_10),
           format_recall(snapshot->index->report().recall_at_10));
  return verify_tables(config, *snapshot->database);
}

std::string describe_database(const RunConfig& config) {
  const DatabasePlace place = database_place(config);
  LiveDatabase live(place);
  const auto snapshot = live.newest();
  const RetrievalDatabase& database = *snapshot->database;
  const NeighbourIndex& index = *snapshot->index;
  const int64_t num_deleted = database.num_documents() - database.num_live_documents();
  const int64_t num_added =
      database.num_rows() - database.shard_first_row(index.num_covered_shards());
  return fmt::format(
      "{} chunks of {} tokens, {} documents, keys of {} features ({})\n"
      "index: {}, recall@10 {} when built\n"
      "since then: {} chunks added, {} documents deleted and still on disk{}\n"
      "on disk: database {}, index {}\n"
      "version {}, {} changes since the build\nkeys by {}\n",
      format_count(database.num_live_chunks()), database.chunk_length(),
      format_count(database.num_live_documents()), database.key_width(), database.key_storage(),
      index.report().type, format_recall(index.report().recall_at_10), format_count(num_added),
      format_count(num_deleted),
      num_added + num_deleted > 0 ? " (`retro database compact` settles both)" : "",
      format_bytes(tree_size_bytes(place.database)), format_bytes(index_size_bytes(place.index)),
      database.version(), database.generation(), database.embedder_identity());
}

}  // namespace retro
