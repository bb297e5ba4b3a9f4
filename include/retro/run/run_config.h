// One YAML file describes a whole run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "retro/core/config.h"
#include "retro/embed/bert_embedder.h"
#include "retro/eval/eval_config.h"
#include "retro/eval/knn_lm.h"
#include "retro/eval/question_answering.h"
#include "retro/generate/sample_config.h"
#include "retro/model/model_config.h"
#include "retro/retrieval/neighbour_index.h"
#include "retro/retrieval/retrieval_database.h"
#include "retro/run/fit_config.h"
#include "retro/text/sentencepiece_tokenizer.h"
#include "retro/text/token_corpus.h"
#include "retro/train/train_config.h"

namespace retro {

struct NeighboursConfig {
  int64_t count = 10;  ///< stored per chunk; evaluation needs at least 10 (METHOD section 2.6)
  std::string exclude = "document";  ///< document | group
  void visit_fields(FieldVisitor& visit);
};

/// The baselines trained beside RETRO: same shape, data and schedule, without cross-attention and
/// encoder; and two fair ones (METHOD section 6).
struct BaselineConfig {
  bool enabled = true;
  bool parameter_matched = false;  ///< "baseline_wide": as many parameters as RETRO
  bool database_text = false;      ///< "baseline_database": the database's text is trained on too
  double learning_rate = 0.0;      ///< 0: train.learning_rate
  void visit_fields(FieldVisitor& visit);
};

struct RunConfig {
  std::string directory = "runs/default";
  std::string dependencies = ".deps";  ///< replaces {dependencies} in paths
  int64_t seed = 1;
  std::string device = "cpu";  ///< cpu | cuda: of the language models; search stays on the CPU
  int64_t threads = 0;         ///< 0: the cores of this machine
  double time_budget_minutes =
      0.0;  ///< 0: none; else a slower machine takes a smaller share of training and text
  CorpusConfig corpus;
  TokenizerConfig tokenizer;
  EmbedConfig embed;
  DatabaseConfig database;
  IndexConfig index;
  NeighboursConfig neighbours;
  ModelConfig model;
  FitConfig fit;
  TrainConfig train;
  BaselineConfig baseline;
  EvalConfig eval;
  KnnConfig knn;
  QaConfig qa;
  SampleConfig sample;
  void visit_fields(FieldVisitor& visit);
};

/// Reads a YAML file, or a run directory's own config.yaml; applies "key=value" overrides; replaces
/// {dependencies}; makes paths absolute; checks what contradicts. Throws Error.
RunConfig load_run_config(const std::filesystem::path& file_or_directory,
                          const std::vector<std::string>& overrides);

/// Throws Error naming the keys that contradict one another.
void check_run_config(const RunConfig& config);

/// False where every source is for the database alone: there is nothing to train or evaluate.
bool has_training_text(const RunConfig& config);

/// Threads this run may use.
int run_threads(const RunConfig& config);

/// Where everything of a run lies.
class RunPaths {
 public:
  explicit RunPaths(const RunConfig& config) : directory_(config.directory) {}
  std::filesystem::path directory() const { return directory_; }
  std::filesystem::path config() const { return directory_ / "config.yaml"; }
  std::filesystem::path tokenizer() const { return directory_ / "tokenizer.model"; }
  std::filesystem::path corpus() const { return directory_ / "corpus"; }
  std::filesystem::path database() const { return directory_ / "database"; }
  std::filesystem::path index() const { return directory_ / "index"; }
  std::filesystem::path neighbours(const std::string& name) const {
    return directory_ / "neighbours" / name;
  }
  std::filesystem::path training(const std::string& name) const {
    return directory_ / "training" / name;
  }
  std::filesystem::path evaluation() const { return directory_ / "eval"; }
  std::filesystem::path sample() const { return directory_ / "sample.json"; }
  std::filesystem::path report() const { return directory_ / "report.html"; }
  /// Of several runs, in the first of them.
  std::filesystem::path comparison() const { return directory_ / "comparison.html"; }

 private:
  std::filesystem::path directory_;
};

}  // namespace retro
