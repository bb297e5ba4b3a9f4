// refresh_neighbours: see database_life.h.
#include "retro/core/log.h"
#include "retro/core/progress.h"
#include "retro/retrieval/live_database.h"
#include "retro/retrieval/neighbour_table.h"
#include "retro/run/database_life.h"
#include "retro/run/neighbour_sets.h"
#include "retro/run/run_embedder.h"

namespace retro {
namespace {

/// The keys that are there; made anew where they belong to another database or encoder.
GridKeys grid_keys_of(const RunConfig& config, const ChunkGrid& grid,
                      const RetrievalDatabase& database, const std::filesystem::path& folder) {
  if (has_grid_keys(grid, database, folder)) return open_grid_keys(grid, database, folder);
  const auto tokenizer =
      load_tokenizer(RunPaths(config).tokenizer(), config.tokenizer.end_of_document);
  const auto embedder = run_embedder(config);
  return load_or_embed_keys(grid, database, *tokenizer, *embedder, folder);
}

}  // namespace

std::vector<RefreshedTable> refresh_neighbours(const RunConfig& config) {
  const RunPaths paths(config);
  const TokenCorpus corpus(paths.corpus());
  LiveDatabase live(database_place(config), MemoryBudget::parse(config.database.memory_budget));
  const auto snapshot = live.newest();
  std::vector<NeighbourSet> sets = training_neighbour_sets(config);
  for (NeighbourSet& set : evaluation_neighbour_sets(config)) sets.push_back(std::move(set));
  std::vector<RefreshedTable> refreshed;
  for (const NeighbourSet& set : sets) {
    const std::filesystem::path folder = paths.neighbours(set.name);
    if (!std::filesystem::exists(folder)) continue;
    const ChunkGrid grid = grid_of(set, corpus, config.database.chunk_length);
    const GridKeys keys =
        grid_keys_of(config, grid, *snapshot->database, folder.parent_path() / keys_folder(set));
    const NeighbourTableSummary summary =
        refresh_neighbour_table(grid, keys, *snapshot->index, set.exclusion, set.num_neighbours,
                                run_threads(config), folder, set.database_fraction);
    log_info(
        "{}: {} chunks, {:.1f} % with fewer neighbours than asked, mean squared distance {:.3f}",
        set.name, format_count(summary.num_rows), 100 * summary.share_short, summary.mean_distance);
    refreshed.push_back({set.name, summary});
  }
  return refreshed;
}

}  // namespace retro
