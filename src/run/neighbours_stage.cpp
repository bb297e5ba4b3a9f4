// The neighbour tables of a run: training and evaluation chunks, the controls, and the shifted
// grids.
#include <algorithm>

#include <ATen/Parallel.h>

#include "retro/core/error.h"
#include "retro/core/log.h"
#include "retro/core/progress.h"
#include "retro/retrieval/neighbour_table.h"
#include "retro/run/neighbour_sets.h"
#include "retro/run/stages.h"

namespace retro {
namespace {

void report(const NeighbourSet& set, const NeighbourTableSummary& summary) {
  log_info(
      "{:<30} {:>9} chunks, {:>5.1f} % with a neighbour, {:>5.1f} % with fewer than asked, mean "
      "squared distance "
      "{:.3f}, {:>5.1f} % from their own source",
      set.name, format_count(summary.num_rows), 100 * summary.share_with_neighbour,
      100 * summary.share_short, summary.mean_distance, 100 * summary.share_same_source);
}

}  // namespace

std::vector<NeighbourSet> training_neighbour_sets(const RunConfig& config) {
  const Exclusion usual = parse_exclusion(config.neighbours.exclude);
  const int64_t count = config.neighbours.count;
  return {{"training/train", kRoleTrain, 0, 0, usual, count},
          {"training/validation", kRoleValidation, 0, 0, usual, count}};
}

std::vector<NeighbourSet> evaluation_neighbour_sets(const RunConfig& config) {
  const Exclusion usual = parse_exclusion(config.neighbours.exclude);
  const Role role = config.eval.split == "validation" ? kRoleValidation : kRoleTest;
  const int64_t cap = config.eval.max_chunks_per_document * config.database.chunk_length;
  const int64_t count = config.neighbours.count;
  std::vector<NeighbourSet> sets{
      {"evaluation/usual", role, 0, cap, usual,
       std::max(count, evaluation_neighbours(config.eval))},
      {"evaluation/counterpart_removed", role, 0, cap, Exclusion::kGroup, count},
      {"evaluation/leaked", role, 0, cap, Exclusion::kNone, count}};
  for (const int64_t shift : config.eval.shifts) {
    if (shift != 0)
      sets.push_back({fmt::format("evaluation/shift_{}", shift), role, shift, cap, usual, count});
  }
  for (const double fraction : config.eval.database_fractions) {
    sets.push_back(
        {fmt::format("evaluation/fraction_{}", fraction), role, 0, cap, usual, count, fraction});
  }
  return sets;
}

std::string keys_folder(const NeighbourSet& set) {
  return fmt::format("keys_{}_{}", role_name(set.role), set.shift);
}

ChunkGrid grid_of(const NeighbourSet& set, const TokenCorpus& corpus, int64_t chunk_length) {
  return ChunkGrid(corpus, corpus.documents_with(set.role), chunk_length, set.shift,
                   set.max_tokens);
}

int execute_neighbours_stage(const RunConfig& config, const std::vector<NeighbourSet>& sets) {
  at::set_num_threads(run_threads(config));
  const RunPaths paths(config);
  const auto tokenizer = load_tokenizer(paths.tokenizer(), config.tokenizer.end_of_document);
  const TokenCorpus corpus(paths.corpus());
  RetrievalDatabase database(paths.database());
  database.set_memory_budget(MemoryBudget::parse(config.database.memory_budget));
  const NeighbourIndex index(database, paths.index());
  const auto embedder = make_embedder(config.embed);
  if (config.neighbours.count > index.report().num_indexed) {
    log_warning("neighbours.count is {}, the database has {} indexed chunks: the rest are missing",
                config.neighbours.count, index.report().num_indexed);
  }
  for (const NeighbourSet& set : sets) {
    const ChunkGrid grid = grid_of(set, corpus, config.database.chunk_length);
    const std::filesystem::path folder = paths.neighbours(set.name);
    const GridKeys grid_keys = load_or_embed_keys(grid, database, *tokenizer, *embedder,
                                                  folder.parent_path() / keys_folder(set));
    report(set, build_neighbour_table(grid, grid_keys, index, set.exclusion, set.num_neighbours,
                                      run_threads(config), folder, set.database_fraction));
  }
  return 0;
}

}  // namespace retro
