// kNN-LM over the same database text: alone, on top of RETRO, and neither (one table).
#include <algorithm>
#include <optional>

#include <ATen/Parallel.h>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/hash.h"
#include "retro/core/json.h"
#include "retro/core/log.h"
#include "retro/core/memory.h"
#include "retro/core/progress.h"
#include "retro/data/neighbour_source.h"
#include "retro/eval/bits_per_byte.h"
#include "retro/eval/bootstrap.h"
#include "retro/eval/knn_passes.h"
#include "retro/run/model_setup.h"
#include "retro/run/neighbour_sets.h"
#include "retro/run/stages.h"
#include "retro/train/checkpoint.h"

namespace retro {
namespace {

/// Documents of the database in a fixed shuffled order, until they hold `max_tokens` (0: all).
std::vector<int64_t> datastore_documents(const TokenCorpus& corpus, int64_t max_tokens) {
  std::vector<std::pair<uint64_t, int64_t>> order;
  for (const int64_t d : corpus.documents_with(kRoleDatabase)) {
    const DocumentInfo& document = corpus.document(d);
    order.emplace_back(sha1_prefix(fmt::format("datastore {}/{}", document.source, document.id)),
                       d);
  }
  std::sort(order.begin(), order.end());
  std::vector<int64_t> documents;
  int64_t tokens = 0;
  for (const auto& [hash, d] : order) {
    if (max_tokens > 0 && tokens >= max_tokens) break;
    documents.push_back(d);
    tokens += corpus.document(d).num_tokens;
  }
  std::sort(documents.begin(), documents.end());
  return documents;
}

/// A text with the neighbours of its chunks.
struct KnnText {
  KnnText(ChunkGrid text, NeighbourTable neighbours, const RetrievalDatabase& database)
      : grid(std::move(text)), table(std::move(neighbours)), source(table, database) {}
  KnnText(const KnnText&) = delete;
  ChunkGrid grid;
  NeighbourTable table;
  TableNeighbours source;
};

/// One line of the table: a model alone or with the datastore.
struct KnnSystem {
  std::string name;
  std::string distances;  ///< "none" | "approximate" | "exact"
  KnnSetting setting;
  double validation_bits_per_byte = 0;
  double bits_per_byte = 0;
  Interval gain;  ///< against the first system
  std::vector<double> nats;
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
  }

  void run() {
    for (const std::string training : {"baseline", "retro"}) {
      if (training == "baseline" && !config_.baseline.enabled) continue;
      add_systems(training);
    }
    add_gains();
    write_json_file(paths_.evaluation() / "knn.json", result());
    print();
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
    const ChunkGrid text(corpus_, datastore_documents(corpus_, config_.knn.max_tokens),
                         config_.database.chunk_length);
    const NeighbourIndex index(database_, paths_.index());
    const auto embedder = make_embedder(config_.embed);
    const auto folder = paths_.neighbours("knn");
    const GridKeys keys =
        load_or_embed_keys(text, database_, *tokenizer_, *embedder, folder / "keys");
    build_neighbour_table(text, keys, index, parse_exclusion(config_.neighbours.exclude),
                          config_.neighbours.count, run_threads(config_), folder / "database");
    stored_.emplace(text, NeighbourTable(folder / "database", database_.version(), text.hash()),
                    database_);
  }

  EvaluationDataset dataset(const KnnText& text) const {
    const int64_t length = config_.eval.sequence_length > 0 ? config_.eval.sequence_length
                                                            : config_.train.sequence_length;
    return {text.grid, tokenizer_->end_of_document(), length / config_.database.chunk_length};
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
    hasher.add("knn datastore 1").add(hash_file(best->path / "model.safetensors"));
    hasher.add(stored_->grid.hash()).add(database_.version());
    hasher.add(training == "retro" ? config_.eval.neighbours.front() : 0);
    return hasher.hex();
  }

  void add_systems(const std::string& training) {
    RetroModel model = load_trained_model(config_, training);
    const EvaluationDataset stored_data = dataset(*stored_);
    const auto directory = paths_.directory() / "knn" / training;
    const Datastore datastore(pass(model, stored_data, *stored_, training, "datastore"),
                              made_from(training), directory);
    const int threads = run_threads(config_);
    const VectorIndex index(datastore.states(), {.num_probes = config_.knn.num_probes},
                            static_cast<uint64_t>(config_.seed), threads);
    log_info("{}: datastore of {} states, index {}", training,
             format_count(datastore.num_entries()), index.name());
    entries_ = datastore.num_entries();
    index_name_ = index.name();
    const auto tokens_of = [&](const KnnText& text, const std::string& what) {
      const EvaluationDataset data = dataset(text);
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
    KnnSystem system{distances == "none" ? model : model + " + kNN-LM",
                     distances,
                     setting,
                     0,
                     0,
                     {},
                     knn_nats(test_tokens_, kind, setting)};
    system.validation_bits_per_byte = bits(knn_nats(validation, kind, setting), validation);
    system.bits_per_byte = bits(system.nats, test_tokens_);
    systems_.push_back(std::move(system));
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
    for (KnnSystem& system : systems_) {
      std::vector<PairedLoss> documents(static_cast<size_t>(test_->grid.num_documents()));
      for (size_t t = 0; t < system.nats.size(); ++t) {
        PairedLoss& document =
            documents[static_cast<size_t>(test_->grid.document_of_row(test_tokens_.row[t]))];
        document.reference_nats += systems_.front().nats[t];
        document.system_nats += system.nats[t];
        document.bytes += test_tokens_.bytes[t];
      }
      system.gain = paired_bootstrap(documents, options);
    }
  }

  nlohmann::json result() const {
    auto systems = nlohmann::json::array();
    for (const KnnSystem& system : systems_) {
      systems.push_back({{"name", system.name},
                         {"distances", system.distances},
                         {"lambda", system.setting.lambda},
                         {"scale", system.setting.scale},
                         {"validation_bits_per_byte", system.validation_bits_per_byte},
                         {"bits_per_byte", system.bits_per_byte},
                         {"gain",
                          {{"estimate", system.gain.estimate},
                           {"low", system.gain.low},
                           {"high", system.gain.high}}}});
    }
    return {{"format", "retro knn"},         {"version", 1},
            {"split", config_.eval.split},   {"entries", entries_},
            {"index", index_name_},          {"neighbours", config_.knn.neighbours},
            {"tokens", test_tokens_.size()}, {"systems", systems}};
  }

  void print() const {
    fmt::print("kNN-LM with {} neighbours of {} states ({}); lambda and a tuned on validation\n",
               config_.knn.neighbours, format_count(entries_), index_name_);
    fmt::print("{:<22}{:<13}{:>8}{:>10}{:>12}{:>12}  gain\n", "", "distances", "lambda", "a",
               "validation", config_.eval.split);
    for (const KnnSystem& system : systems_) {
      fmt::print("{:<22}{:<13}{:>8.3f}{:>10.5f}{:>12.4f}{:>12.4f}  {:+.4f} ±{:.4f}\n", system.name,
                 system.distances, system.setting.lambda, system.setting.scale,
                 system.validation_bits_per_byte, system.bits_per_byte, system.gain.estimate,
                 system.gain.half_width());
    }
  }

  const RunConfig& config_;
  RunPaths paths_;
  TokenCorpus corpus_;
  std::unique_ptr<Tokenizer> tokenizer_;
  RetrievalDatabase database_;
  std::optional<KnnText> validation_, test_, stored_;
  KnnTokens test_tokens_;
  int64_t entries_ = 0;
  std::string index_name_;
  std::vector<KnnSystem> systems_;
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
