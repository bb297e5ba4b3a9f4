// The neighbour tables of a run: training and evaluation chunks, the controls, and the shifted
// grids.
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
      "{:<16} {:>9} chunks, {:>5.1f} % with a neighbour, {:>5.1f} % with fewer than asked, mean "
      "squared distance "
      "{:.3f}, {:>5.1f} % from their own source",
      set.name, format_count(summary.num_rows), 100 * summary.share_with_neighbour,
      100 * summary.share_short, summary.mean_distance, 100 * summary.share_same_source);
}

}  // namespace

std::vector<NeighbourSet> list_neighbour_sets(const RunConfig& config) {
  const Exclusion usual = parse_exclusion(config.neighbours.exclude);
  std::vector<NeighbourSet> sets{{"train", kRoleTrain, 0, usual},
                                 {"validation", kRoleValidation, 0, usual}};
  const Role role = evaluation_role(config);
  if (role != kRoleValidation) sets.push_back({role_name(role), role, 0, usual});
  sets.push_back({"counterpart_removed", role, 0, Exclusion::kGroup});
  sets.push_back({"leaked", role, 0, Exclusion::kNone});
  for (const int64_t shift : config.eval.shifts) {
    if (shift != 0) sets.push_back({fmt::format("shift_{}", shift), role, shift, usual});
  }
  return sets;
}

Role evaluation_role(const RunConfig& config) {
  return config.eval.split == "validation" ? kRoleValidation : kRoleTest;
}

ChunkGrid role_grid(const RunConfig& config, const TokenCorpus& corpus, Role role, int64_t shift) {
  const int64_t m = config.database.chunk_length;
  const int64_t cap = role == kRoleTrain ? 0 : config.eval.max_chunks_per_document * m;
  return ChunkGrid(corpus, corpus.documents_with(role), m, shift, cap);
}

int execute_neighbours_stage(const RunConfig& config) {
  at::set_num_threads(run_threads(config));
  const RunPaths paths(config);
  const auto tokenizer = load_tokenizer(paths.tokenizer(), config.tokenizer.end_of_document);
  const TokenCorpus corpus(paths.corpus());
  const RetrievalDatabase database(paths.database());
  const NeighbourIndex index(database, paths.index());
  const auto embedder = make_embedder(config.embed);
  if (config.neighbours.count > index.report().num_indexed) {
    log_warning("neighbours.count is {}, the database has {} indexed chunks: the rest are missing",
                config.neighbours.count, index.report().num_indexed);
  }
  for (const NeighbourSet& set : list_neighbour_sets(config)) {
    const ChunkGrid grid = role_grid(config, corpus, set.role, set.shift);
    const std::string keys_name = fmt::format("keys_{}_{}", role_name(set.role), set.shift);
    const GridKeys keys =
        load_or_embed_keys(grid, database, *tokenizer, *embedder, paths.neighbours(keys_name));
    report(set, build_neighbour_table(grid, keys, index, set.exclusion, config.neighbours.count,
                                      run_threads(config), paths.neighbours(set.name)));
  }
  return 0;
}

}  // namespace retro
