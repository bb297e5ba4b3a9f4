// Every pass of the evaluation, its figures as a table and JSON, and the chunks the report shows.
#include <algorithm>
#include <deque>

#include <ATen/Parallel.h>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/hash.h"
#include "retro/core/log.h"
#include "retro/core/memory.h"
#include "retro/eval/breakdown.h"
#include "retro/eval/evaluation.h"
#include "retro/eval/examples.h"
#include "retro/run/model_setup.h"
#include "retro/run/neighbour_sets.h"
#include "retro/run/stages.h"
#include "retro/train/checkpoint.h"

namespace retro {
namespace {

std::string weights_hash(const RunConfig& config, const std::string& training) {
  if (config.fit.is_enabled() && config.baseline.enabled && training == "baseline")
    return hash_file(find_base(config.fit.base).weights);
  const auto best = best_checkpoint(RunPaths(config).training(training) / "checkpoints");
  return best ? hash_file(best->path / "model.safetensors") : std::string{};
}

/// Owns what EvalInputs points to.
class EvaluationData {
 public:
  explicit EvaluationData(const RunConfig& config)
      : corpus_(RunPaths(config).corpus()),
        tokenizer_(load_tokenizer(RunPaths(config).tokenizer(), config.tokenizer.end_of_document)),
        database_(RunPaths(config).database()) {
    const std::vector<NeighbourSet> sets = evaluation_neighbour_sets(config);
    const int64_t chunk_length = config.database.chunk_length;
    const ChunkGrid& grid = grids_.emplace_back(grid_of(sets.front(), corpus_, chunk_length));
    inputs_.grid = &grid;
    inputs_.database = &database_;
    inputs_.table = open_table(config, "evaluation/usual", grid);
    inputs_.group_table = open_table(config, "evaluation/counterpart_removed", grid);
    inputs_.leaked_table = open_table(config, "evaluation/leaked", grid);
    for (const NeighbourSet& set : sets) {
      if (set.shift == 0) continue;
      const ChunkGrid& shifted = grids_.emplace_back(grid_of(set, corpus_, chunk_length));
      inputs_.shifted.push_back({&shifted, open_table(config, set.name, shifted)});
    }
    for (const double fraction : config.eval.database_fractions) {
      const std::string name = fmt::format("evaluation/fraction_{}", fraction);
      inputs_.fractions.push_back({fraction, open_table(config, name, grid)});
    }
    for (const std::string& name : baseline_names(config)) {
      if (name != "baseline")
        inputs_.further_baselines.emplace_back(name, weights_hash(config, name));
    }
    inputs_.tokenizer = tokenizer_.get();
    inputs_.end_of_document = tokenizer_->end_of_document();
    inputs_.sequence_length = config.train.sequence_length;
    inputs_.model_hash = weights_hash(config, "retro");
    inputs_.baseline_hash = weights_hash(config, "baseline");
    inputs_.num_threads = run_threads(config);
  }

  const EvalInputs& inputs() const { return inputs_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }

 private:
  const NeighbourTable* open_table(const RunConfig& config, const std::string& name,
                                   const ChunkGrid& grid) {
    return &tables_.emplace_back(RunPaths(config).neighbours(name), database_.version(),
                                 grid.hash());
  }

  TokenCorpus corpus_;
  std::unique_ptr<Tokenizer> tokenizer_;
  RetrievalDatabase database_;
  std::deque<ChunkGrid> grids_;
  std::deque<NeighbourTable> tables_;
  EvalInputs inputs_;
};

void check_eval(const RunConfig& config) {
  check_eval_config(config.eval, config.database.chunk_length,
                    std::max(config.neighbours.count, evaluation_neighbours(config.eval)));
}

/// Runs what is missing of a training's passes.
void run_passes(const RunConfig& config, const EvaluationData& data, const std::string& training) {
  RetroModel model = load_trained_model(config, training);
  std::vector<ColumnKey> columns = planned_columns(config.eval, data.inputs());
  const auto variants = variant_columns(config.eval, data.inputs());
  columns.insert(columns.end(), variants.begin(), variants.end());
  for (const ColumnKey& column : columns) {
    if (training_of(column.kind) == training)
      run_column(model, column, config.eval, data.inputs(), RunPaths(config).evaluation());
  }
}

}  // namespace

int execute_passes_stage(const RunConfig& config, const std::string& training) {
  at::set_num_threads(run_threads(config));
  keep_freed_memory();
  check_eval(config);
  run_passes(config, EvaluationData(config), training);
  return 0;
}

int execute_evaluation_stage(const RunConfig& config) {
  at::set_num_threads(run_threads(config));
  check_eval(config);
  const auto directory = RunPaths(config).evaluation();
  const EvaluationData data(config);
  run_passes(config, data, "retro");
  for (const std::string& training : baseline_names(config)) run_passes(config, data, training);
  const EvalResult result = summarise_columns(config.eval, data.inputs(), directory);
  write_file(directory / "result.json", to_json(result));  // first: the rest only looks closer
  const Breakdown breakdown = break_down(config.eval, data.inputs(), directory);
  write_file(directory / "breakdown.json", to_json(breakdown));
  write_examples(example_chunks(config.eval, data.inputs(), data.tokenizer(), directory),
                 directory / "examples.json");
  fmt::print("{}\n{}\n", format_result(result), format_breakdown(breakdown));
  return 0;
}

}  // namespace retro
