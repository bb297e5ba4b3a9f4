// The neighbour tables of a run: training and evaluation chunks, the controls, and the shifted
// grids.
#include <algorithm>
#include <set>

#include <ATen/Parallel.h>

#include "retro/core/error.h"
#include "retro/core/file_tree.h"
#include "retro/core/log.h"
#include "retro/core/progress.h"
#include "retro/retrieval/neighbour_table.h"
#include "retro/run/neighbour_sets.h"
#include "retro/run/run_embedder.h"
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

namespace {

/// What every table of a run is made from.
struct TableInputs {
  explicit TableInputs(const RunConfig& config)
      : paths(config),
        tokenizer(load_tokenizer(paths.tokenizer(), config.tokenizer.end_of_document)),
        corpus(paths.corpus()),
        database(paths.database()),
        index(database, paths.index()),
        embedder(run_embedder(config)) {
    database.set_memory_budget(MemoryBudget::parse(config.database.memory_budget));
    if (config.neighbours.count > index.report().num_indexed) {
      log_warning(
          "neighbours.count is {}, the database has {} indexed chunks: the rest are missing",
          config.neighbours.count, index.report().num_indexed);
    }
  }

  RunPaths paths;
  std::unique_ptr<Tokenizer> tokenizer;
  TokenCorpus corpus;
  RetrievalDatabase database;
  NeighbourIndex index;
  std::unique_ptr<ChunkEmbedder> embedder;
};

}  // namespace

namespace {

/// Tables and keys of shifts or shares that the configuration no longer names: nothing reads them,
/// and nothing would take a deleted document out of them.
void remove_other_tables(const RunPaths& paths, const std::vector<NeighbourSet>& sets) {
  std::set<std::filesystem::path> named;
  for (const NeighbourSet& set : sets) {
    named.insert(paths.neighbours(set.name));
    named.insert(paths.neighbours(set.name).parent_path() / keys_folder(set));
  }
  std::vector<std::filesystem::path> others;
  const auto folder = paths.neighbours(sets.front().name).parent_path();
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_directory() && !named.contains(entry.path())) others.push_back(entry.path());
  }
  for (const std::filesystem::path& other : others) remove_tree(other);
}

}  // namespace

int execute_neighbours_stage(const RunConfig& config, const std::vector<NeighbourSet>& sets) {
  at::set_num_threads(run_threads(config));
  const TableInputs in(config);
  for (const NeighbourSet& set : sets) {
    const ChunkGrid grid = grid_of(set, in.corpus, config.database.chunk_length);
    const std::filesystem::path folder = in.paths.neighbours(set.name);
    const GridKeys grid_keys = load_or_embed_keys(grid, in.database, *in.tokenizer, *in.embedder,
                                                  folder.parent_path() / keys_folder(set));
    report(set, build_neighbour_table(grid, grid_keys, in.index, set.exclusion, set.num_neighbours,
                                      run_threads(config), folder, set.database_fraction));
  }
  remove_other_tables(in.paths, sets);
  return 0;
}

void build_run_neighbours_part(const RunConfig& config, const BuildPart& part) {
  at::set_num_threads(run_threads(config));
  const TableInputs in(config);
  std::vector<NeighbourSet> sets = training_neighbour_sets(config);
  for (NeighbourSet& set : evaluation_neighbour_sets(config)) sets.push_back(std::move(set));
  for (const NeighbourSet& set : sets) {
    const ChunkGrid grid = grid_of(set, in.corpus, config.database.chunk_length);
    const std::filesystem::path folder = in.paths.neighbours(set.name);
    const TableSettings settings{set.exclusion, set.num_neighbours, run_threads(config),
                                 set.database_fraction};
    build_neighbour_table_part({grid, in.index, *in.tokenizer, *in.embedder, settings}, part,
                               folder.parent_path() / keys_folder(set), folder);
    log_info("{:<30} part {} of {} is made", set.name, part.index, part.count);
  }
}

}  // namespace retro
