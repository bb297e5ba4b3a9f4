// verify_database: see database_life.h.
#include "retro/core/bundle.h"
#include "retro/core/error.h"
#include "retro/core/log.h"
#include "retro/core/progress.h"
#include "retro/retrieval/live_database.h"
#include "retro/retrieval/verification.h"
#include "retro/run/database_life.h"
#include "retro/run/neighbour_sets.h"

namespace retro {
namespace {

namespace fs = std::filesystem;

void verify_tables(const RunConfig& config, const RetrievalDatabase& database,
                   DatabaseVerification& found) {
  const RunPaths paths(config);
  if (!fs::exists(paths.corpus())) return;
  const TokenCorpus corpus(paths.corpus());
  std::vector<NeighbourSet> sets = training_neighbour_sets(config);
  for (NeighbourSet& set : evaluation_neighbour_sets(config)) sets.push_back(std::move(set));
  for (const NeighbourSet& set : sets) {
    const fs::path folder = paths.neighbours(set.name);
    if (!fs::exists(folder)) continue;
    const ChunkGrid grid = grid_of(set, corpus, config.database.chunk_length);
    const std::string version = verify_neighbour_table(folder, grid.hash());
    verify_grid_keys(open_grid_keys(grid, database, folder.parent_path() / keys_folder(set)));
    const bool is_stale = version != database.version();
    ++found.num_tables;
    found.num_stale_tables += is_stale ? 1 : 0;
    log_info("neighbours {}: whole{}", set.name, is_stale ? ", of an older database" : "");
  }
}

}  // namespace

DatabaseVerification verify_database(const RunConfig& config) {
  if (is_bundle(config.directory)) {
    Bundle(config.directory).verify();
    log_info("bundle: every byte as written");
  }
  LiveDatabase live(database_place(config), MemoryBudget::parse(config.database.memory_budget));
  const auto snapshot = live.newest();
  snapshot->database->verify();
  DatabaseVerification found;
  found.num_chunks = snapshot->database->num_live_chunks();
  found.num_documents = snapshot->database->num_live_documents();
  log_info("database: {} chunks of {} documents, every byte as written",
           format_count(found.num_chunks), format_count(found.num_documents));
  const OperatingPoint point =
      measure_recall(*snapshot->index, config.index.recall_queries,
                     static_cast<uint64_t>(config.seed), run_threads(config));
  verify_index(database_place(config).index);
  found.index_type = snapshot->index->report().type;
  found.recall_at_10 = point.recall_at_10;
  found.recall_at_10_when_built = snapshot->index->report().recall_at_10;
  log_info("index: {}, every byte as written; recall@10 {} now, {} when built", found.index_type,
           format_recall(found.recall_at_10), format_recall(found.recall_at_10_when_built));
  verify_tables(config, *snapshot->database, found);
  return found;
}

}  // namespace retro
