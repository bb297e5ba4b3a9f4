// kNN-LM over the same database text: alone, on top of RETRO, and neither (one table).
#include <algorithm>
#include <optional>

#include <ATen/Parallel.h>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/hash.h"
#include "retro/core/log.h"
#include "retro/core/memory.h"
#include "retro/core/progress.h"
#include "retro/data/neighbour_source.h"
#include "retro/eval/bits_per_byte.h"
#include "retro/eval/datastore_text.h"
#include "retro/eval/knn_passes.h"
#include "retro/eval/knn_result.h"
#include "retro/run/model_setup.h"
#include "retro/run/neighbour_sets.h"
#include "retro/run/run_embedder.h"
#include "retro/run/stages.h"
#include "retro/train/checkpoint.h"

namespace retro {
namespace {

/// A text with the neighbours of its chunks.
struct KnnText {
  KnnText(ChunkGrid text, NeighbourTable neighbours, const RetrievalDatabase& database)
      : grid(std::move(text)), table(std::move(neighbours)), source(table, database) {}
  KnnText(const KnnText&) = delete;
  ChunkGrid grid;
  NeighbourTable table;
  TableNeighbours source;
};

class KnnStage {
 public:
  explicit KnnStage(const RunConfig& config)
      : config_(config),
        paths_(config),
        corpus_(paths_.corpus()),
        tokenizer_(load_tokenizer(paths_.tokenizer(), config.tokenizer.end_of_document)),
        database_(paths_.database()) {
    const auto training_sets = training_neighbour_sets(config);
    const auto evaluation_sets = evaluation_neighbour_sets(config);
    validation_.emplace(grid(training_sets[1]), open(training_sets[1]), database_);
    test_.emplace(grid(evaluation_sets[0]), open(evaluation_sets[0]), database_);
    open_datastore_text();
    result_.split = config.eval.split;
    result_.neighbours = config.knn.neighbours;
  }

  void run() {
    warn_of_tuning();
    for (const std::string training : {"baseline", "retro"}) {
      if (training == "baseline" && !config_.baseline.enabled) continue;
      add_systems(training);
    }
    add_gains();
    write_json_file(paths_.evaluation() / "knn.json", knn_json(result_));
    fmt::print("{}", format_knn(result_));
  }

 private:
  ChunkGrid grid(const NeighbourSet& set) const {
    return grid_of(set, corpus_, config_.database.chunk_length);
  }
  NeighbourTable open(const NeighbourSet& set) const {
    return {paths_.neighbours(set.name), database_.version(), grid(set).hash()};
  }

  /// The datastore's text needs neighbours too, so that RETRO's states are those of its evaluation.
  void open_datastore_text() {
    const ChunkGrid text =
        datastore_text(corpus_, config_.database.chunk_length, config_.knn.max_tokens);
    const NeighbourIndex index(database_, paths_.index());
    const auto embedder = run_embedder(config_);
    const auto folder = paths_.neighbours("knn");
    const GridKeys keys =
        load_or_embed_keys(text, database_, *tokenizer_, *embedder, folder / "keys");
    build_neighbour_table(text, keys, index, parse_exclusion(config_.neighbours.exclude),
                          config_.neighbours.count, run_threads(config_), folder / "database");
    stored_.emplace(text, NeighbourTable(folder / "database", database_.version(), text.hash()),
                    database_);
  }

  /// Said before the hours that follow.
  void warn_of_tuning() const {
    if (config_.eval.split == "validation")
      log_warning(
          "knn: lambda and a are tuned on the text that is scored (eval.split: validation)");
    if (validation_->grid.num_rows() == 0)
      log_warning("knn: there is no validation text to tune lambda and a on: nothing is mixed in");
  }

  int64_t sequence_length() const {
    return config_.eval.sequence_length > 0 ? config_.eval.sequence_length
                                            : config_.train.sequence_length;
  }

  EvaluationDataset dataset(const KnnText& text, double overlap) const {
    return {text.grid, tokenizer_->end_of_document(),
            sequence_length() / config_.database.chunk_length, overlap};
  }

  KnnPass pass(RetroModel& model, const EvaluationDataset& data, const KnnText& text,
               const std::string& training, const std::string& what) const {
    const bool retrieves = training == "retro";
    return {&model,
            &data,
            retrieves ? &text.source : nullptr,
            retrieves ? config_.eval.neighbours.front() : 0,
            config_.knn.batch_size,
            fmt::format("{}: {}", training, what)};
  }

  std::string made_from(const std::string& training) const {
    const auto best = best_checkpoint(paths_.training(training) / "checkpoints");
    Hasher hasher;
    hasher.add("knn datastore 2").add(hash_file(best->path / "model.safetensors"));
    hasher.add(stored_->grid.hash()).add(database_.version());
    hasher.add(sequence_length()).add(config_.neighbours.exclude);
    hasher.add(training == "retro" ? config_.eval.neighbours.front() : 0);
    return hasher.hex();
  }

  void add_systems(const std::string& training) {
    RetroModel model = load_trained_model(config_, training);
    // Every stored token once, in windows that do not overlap.
    const EvaluationDataset stored_data = dataset(*stored_, 0.0);
    const auto directory = paths_.directory() / "knn" / training;
    const Datastore datastore(pass(model, stored_data, *stored_, training, "datastore"),
                              made_from(training), directory);
    const int threads = run_threads(config_);
    const VectorIndex index(datastore.states(), {.num_probes = config_.knn.num_probes},
                            static_cast<uint64_t>(config_.seed), threads);
    log_info("{}: datastore of {} states, index {}", training,
             format_count(datastore.num_entries()), index.name());
    result_.entries = datastore.num_entries();
    result_.index = index.name();
    const auto tokens_of = [&](const KnnText& text, const std::string& what) {
      KnnTokens none;
      none.neighbours = config_.knn.neighbours;
      if (text.grid.num_rows() == 0) return none;
      const EvaluationDataset data = dataset(text, config_.eval.window_overlap);
      return look_up(pass(model, data, text, training, what), datastore, index, config_.knn,
                     config_.eval.max_chunks_per_document, threads);
    };
    const KnnTokens validation = tokens_of(*validation_, "validation");
    test_tokens_ = tokens_of(*test_, config_.eval.split);
    add_system(training, "none", validation, {});
    add_system(training, "approximate", validation,
               tune_knn(validation, KnnDistances::kApproximate, threads));
    add_system(training, "exact", validation, tune_knn(validation, KnnDistances::kExact, threads));
  }

  void add_system(const std::string& training, const std::string& distances,
                  const KnnTokens& validation, const KnnSetting& setting) {
    const KnnDistances kind =
        distances == "approximate" ? KnnDistances::kApproximate : KnnDistances::kExact;
    const std::string model = training == "retro" ? "RETRO" : "baseline";
    KnnSystem system;
    system.name = distances == "none" ? model : model + " + kNN-LM";
    system.distances = distances;
    system.setting = setting;
    nats_.push_back(knn_nats(test_tokens_, kind, setting));
    system.validation_bits_per_byte = bits(knn_nats(validation, kind, setting), validation);
    system.bits_per_byte = bits(nats_.back(), test_tokens_);
    result_.systems.push_back(std::move(system));
  }

  static double bits(const std::vector<double>& nats, const KnnTokens& tokens) {
    double sum = 0;
    int64_t bytes = 0;
    for (size_t t = 0; t < nats.size(); ++t) {
      sum += nats[t];
      bytes += tokens.bytes[t];
    }
    return bits_per_byte(sum, bytes);
  }

  void add_gains() {
    const BootstrapOptions options{config_.eval.bootstrap_resamples, 0.95,
                                   static_cast<uint64_t>(config_.eval.seed)};
    for (size_t s = 0; s < nats_.size(); ++s) {
      std::vector<PairedLoss> documents(static_cast<size_t>(test_->grid.num_documents()));
      for (size_t t = 0; t < nats_[s].size(); ++t) {
        PairedLoss& document =
            documents[static_cast<size_t>(test_->grid.document_of_row(test_tokens_.row[t]))];
        document.reference_nats += nats_.front()[t];
        document.system_nats += nats_[s][t];
        document.bytes += test_tokens_.bytes[t];
      }
      result_.systems[s].gain = paired_bootstrap(documents, options);
    }
    result_.tokens = static_cast<int64_t>(test_tokens_.size());
  }

  const RunConfig& config_;
  RunPaths paths_;
  TokenCorpus corpus_;
  std::unique_ptr<Tokenizer> tokenizer_;
  RetrievalDatabase database_;
  std::optional<KnnText> validation_, test_, stored_;
  KnnTokens test_tokens_;
  KnnResult result_;
  std::vector<std::vector<double>> nats_;  ///< of every scored token, by system
};

}  // namespace

int execute_knn_stage(const RunConfig& config) {
  at::set_num_threads(run_threads(config));
  keep_freed_memory();
  check_knn_config(config.knn);
  std::filesystem::create_directories(RunPaths(config).evaluation());
  KnnStage(config).run();
  return 0;
}

}  // namespace retro
