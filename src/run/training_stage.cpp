// The two trainings of a run: RETRO, and the baseline it is compared with.
#include <ATen/Parallel.h>

#include "retro/core/log.h"
#include "retro/core/memory.h"
#include "retro/core/progress.h"
#include "retro/core/signal.h"
#include "retro/run/model_setup.h"
#include "retro/run/source_weights.h"
#include "retro/run/stages.h"
#include "retro/train/trainer.h"

namespace retro {
namespace {

/// Whose text a training reads.
uint32_t training_roles(const std::string& training) {
  return training == "baseline_database" ? kRoleTrain | kRoleDatabase : uint32_t{kRoleTrain};
}

/// The text both models read, and what only RETRO reads beside it.
struct TrainingData {
  TrainingData(const RunConfig& config, const std::string& training)
      : corpus(RunPaths(config).corpus()),
        tokenizer(load_tokenizer(RunPaths(config).tokenizer(), config.tokenizer.end_of_document)),
        train_grid(corpus, corpus.documents_with(training_roles(training)),
                   config.database.chunk_length),
        validation_grid(
            grid_of(training_neighbour_sets(config)[1], corpus, config.database.chunk_length)) {}

  TokenCorpus corpus;
  std::unique_ptr<Tokenizer> tokenizer;
  ChunkGrid train_grid;
  ChunkGrid validation_grid;
};

struct TrainingNeighbours {
  TrainingNeighbours(const RunConfig& config, const TrainingData& data)
      : database(RunPaths(config).database()),
        train_table(RunPaths(config).neighbours("training/train"), database.version(),
                    data.train_grid.hash()),
        validation_table(RunPaths(config).neighbours("training/validation"), database.version(),
                         data.validation_grid.hash()),
        train_neighbours(train_table, database),
        validation_neighbours(validation_table, database),
        random_neighbours(data.train_grid, database, static_cast<uint64_t>(config.train.seed)) {}

  RetrievalDatabase database;
  NeighbourTable train_table;
  NeighbourTable validation_table;
  TableNeighbours train_neighbours;
  TableNeighbours validation_neighbours;
  RandomNeighbours random_neighbours;
};

TrainInputs inputs_without_retrieval(const RunConfig& config, const TrainingData& data,
                                     const std::string& training) {
  TrainInputs inputs;
  inputs.model = make_model(config, *data.tokenizer, training);
  inputs.training.grid = &data.train_grid;
  inputs.training.end_of_document = data.tokenizer->end_of_document();
  inputs.validation_grid = data.validation_grid.num_rows() > 0 ? &data.validation_grid : nullptr;
  inputs.data_identity = data.train_grid.hash();
  inputs.should_stop = [] { return interrupt_requested(); };
  return inputs;
}

int finish(const TrainResult& result) {
  if (result.outcome == TrainOutcome::kInterrupted) {
    log_warning("interrupted at step {}; saved {}", result.step, result.checkpoint.string());
    return 130;
  }
  log_info("{} steps, {} tokens in {}; loss {:.4f}; {}", format_count(result.step),
           format_count(result.tokens), format_duration(result.seconds), result.loss,
           result.checkpoint.string());
  return 0;
}

}  // namespace

int execute_training_stage(const RunConfig& config, const std::string& training) {
  at::set_num_threads(run_threads(config));
  keep_freed_memory();
  InterruptGuard interrupts;
  const TrainingData data(config, training);
  TrainInputs inputs = inputs_without_retrieval(config, data, training);
  const auto directory = RunPaths(config).training(training);
  if (training != "retro") {
    TrainConfig train_config = baseline_train_config(config);
    if (training == "baseline_database")
      train_config.sources =
          weights_with_database(config.corpus, data.train_grid, train_config.sources);
    return finish(train(train_config, inputs, directory));
  }
  const TrainingNeighbours neighbours(config, data);
  inputs.training.neighbours = &neighbours.train_neighbours;
  inputs.training.random_neighbours = &neighbours.random_neighbours;
  inputs.validation_neighbours = &neighbours.validation_neighbours;
  inputs.validation_k = evaluation_k(config);
  inputs.data_identity += neighbours.database.version();
  if (config.fit.is_enabled() && config.fit.cache_frozen) {
    inputs.cache_frozen = true;
    inputs.data_identity += "+repeated packing";
  }
  return finish(train(config.train, inputs, directory));
}

}  // namespace retro
