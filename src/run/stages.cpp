#include "retro/run/stages.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "retro/core/config_yaml.h"
#include "retro/core/error.h"
#include "retro/core/flat_fields.h"
#include "retro/run/model_setup.h"

namespace retro {
namespace {

namespace fs = std::filesystem;

/// The corpus section without paths: the files' content is hashed instead. What is there counts,
/// not whether it had to be.
std::string corpus_text(CorpusConfig corpus) {
  for (SourceConfig& source : corpus.sources) {
    source.path.clear();
    source.optional = false;
  }
  return to_yaml(corpus);
}

std::string embed_text(EmbedConfig embed) {
  if (!embed.model.starts_with("hashed:")) embed.model.clear();
  return to_yaml(embed);
}

/// A few words of their own for stages whose config is not a whole section.
template <class... Parts>
std::string text_of(const Parts&... parts) {
  std::string text;
  ((text += fmt::format("{}\n", parts)), ...);
  return text;
}

/// What decides training. Defaults are left out: a new key must not cost anybody a training.
std::string training_text(const RunConfig& config, const TrainConfig& train) {
  return text_of("model", changes_text(config.model), "train", decisive_text(train));
}

std::vector<fs::path> text_files(const RunConfig& config) {
  std::vector<fs::path> files;
  for (const SourceConfig& source : config.corpus.sources) files.emplace_back(source.path);
  return files;
}

std::vector<fs::path> encoder_files(const RunConfig& config) {
  if (config.embed.model.starts_with("hashed:")) return {};
  const fs::path model = config.embed.model;
  return {model / "model.safetensors", model / "vocab.txt", model / "config.json"};
}

/// Builds the stages in order, each with its part of the config.
class StageList {
 public:
  explicit StageList(const RunConfig& config)
      : config_(config), paths_(config), threads_(run_threads(config)) {}

  std::vector<Stage> build() {
    add_text_stages();
    add_training_stages();
    add_evaluation_stages();
    add_result_stages();
    return std::move(stages_);
  }

 private:
  Stage& add(std::string name, std::string title, std::vector<std::string> after,
             std::string text) {
    Stage& stage = stages_.emplace_back();
    stage.name = std::move(name);
    stage.title = std::move(title);
    stage.after = std::move(after);
    stage.config = std::move(text);
    stage.num_threads = threads_;
    return stage;
  }

  void add_text_stages() {
    Stage& tokenizer = add(
        "tokenizer", "tokenizer", {},
        text_of(corpus_text(config_.corpus), config_.tokenizer.type, config_.tokenizer.vocabulary,
                config_.tokenizer.training_bytes, config_.tokenizer.end_of_document, config_.seed));
    tokenizer.input_files = text_files(config_);
    if (!config_.tokenizer.path.empty()) {
      for (auto& file : tokenizer_files(config_.tokenizer.path))
        tokenizer.input_files.push_back(std::move(file));
    }
    tokenizer.outputs = {paths_.tokenizer()};
    add("corpus", "corpus", {"tokenizer"}, {}).outputs = {paths_.corpus()};
    Stage& database = add("database", "retrieval database", {"corpus"},
                          text_of(to_yaml(config_.database), embed_text(config_.embed)));
    database.input_files = encoder_files(config_);
    replaces_itself(database, paths_.database());
    replaces_itself(
        add("index", "index", {"database"}, text_of(to_yaml(config_.index), config_.seed)),
        paths_.index());
    replaces_itself(add("neighbours.training", "neighbours of training chunks", {"corpus", "index"},
                        to_yaml(config_.neighbours)),
                    paths_.neighbours("training"));
    replaces_itself(
        add("neighbours.evaluation", "neighbours of evaluation chunks", {"corpus", "index"},
            text_of(to_yaml(config_.neighbours), config_.eval.split,
                    config_.eval.max_chunks_per_document,
                    fmt::format("{}", fmt::join(config_.eval.shifts, " ")),
                    fmt::format("{}", fmt::join(config_.eval.database_fractions, " ")),
                    std::max(config_.neighbours.count, evaluation_neighbours(config_.eval)))),
        paths_.neighbours("evaluation"));
  }

  /// The database may have been changed since it was built, which its builder alone can tell.
  static void replaces_itself(Stage& stage, const fs::path& output) {
    stage.outputs = {output};
    stage.replaces_itself = true;
  }

  /// Of each model's own stages: side by side with half of the threads each, since two runs of one
  /// thread beat one of two (small models).
  int model_threads() const {
    // One GPU: one after the other.
    const bool shares = config_.baseline.enabled && config_.device == "cpu";
    return shares ? std::max(1, threads_ / 2) : threads_;
  }

  void add_training_stages() {
    if (config_.fit.is_enabled()) return add_fit_stage();
    for (const std::string& name : baseline_names(config_)) {
      Stage& baseline = add("train." + name, "train " + name, {"corpus"},
                            training_text(config_, baseline_train_config(config_)));
      baseline.outputs = {paths_.training(name)};
      baseline.keeps_earlier = true;
      baseline.num_threads = model_threads();
    }
    Stage& retro = add("train.retro", "train RETRO", {"neighbours.training"},
                       training_text(config_, config_.train));
    retro.outputs = {paths_.training("retro")};
    retro.keeps_earlier = true;
    retro.num_threads = model_threads();
  }

  /// Instead of both trainings: the base is the baseline.
  void add_fit_stage() {
    Stage& fit = add("fit", "RETRO-fit the base", {"neighbours.training"},
                     text_of(training_text(config_, config_.train), config_.fit.freeze,
                             config_.fit.base_precision, config_.fit.cache_frozen));
    fit.input_files = {find_base(config_.fit.base).weights};
    fit.outputs = {paths_.training("retro")};
    fit.keeps_earlier = true;
  }

  /// The stage a model comes from; none for a base.
  std::vector<std::string> training_stages(const std::string& model) const {
    if (!config_.fit.is_enabled()) return {"train." + model};
    if (model == "baseline") return {};
    return {"fit"};
  }

  /// The passes of both models side by side, like the trainings; then the figures.
  void add_evaluation_stages() {
    std::vector<std::string> passes;
    std::vector<std::string> models = baseline_names(config_);
    models.emplace_back("retro");
    for (const std::string& model : models) {
      std::vector<std::string> after = training_stages(model);
      after.insert(after.begin(), "neighbours.evaluation");
      const bool is_fitted = config_.fit.is_enabled();
      Stage& stage = add("passes." + model, "evaluate " + model, after,
                         is_fitted ? text_of(to_yaml(config_.eval), config_.fit.base_precision)
                                   : to_yaml(config_.eval));
      if (is_fitted) stage.input_files = {find_base(config_.fit.base).weights};
      stage.num_threads = model_threads();
      passes.push_back(stage.name);
    }
    Stage& evaluation = add("eval", "evaluation", passes, to_yaml(config_.eval));
    evaluation.format_version = 3;  // verdicts look at random neighbours and at documents
    evaluation.outputs = {paths_.evaluation() / "result.json",
                          paths_.evaluation() / "examples.json",
                          paths_.evaluation() / "breakdown.json"};
  }

  void add_knn_stage() {
    if (!config_.knn.enabled) return;
    std::vector<std::string> inputs{"neighbours.training", "neighbours.evaluation", "train.retro"};
    if (config_.baseline.enabled) inputs.emplace_back("train.baseline");
    Stage& knn = add("knn", "kNN-LM", inputs,
                     text_of(to_yaml(config_.knn), to_yaml(config_.eval), config_.seed));
    knn.format_version = 2;  // windows overlap as in the evaluation
    knn.outputs = {paths_.evaluation() / "knn.json"};
  }

  void add_qa_stage() {
    if (config_.qa.questions.empty()) return;
    std::vector<std::string> inputs{"index", "train.retro"};
    if (config_.baseline.enabled) inputs.emplace_back("train.baseline");
    QaConfig decisive = config_.qa;
    decisive.questions.clear();
    Stage& stage =
        add("qa", "question answering", inputs, text_of(to_yaml(decisive), config_.seed));
    stage.input_files = {config_.qa.questions};
    stage.outputs = {paths_.evaluation() / "qa.json"};
  }

  void add_result_stages() {
    add_qa_stage();
    add_knn_stage();
    add("sample", "sample", training_stages("retro"), to_yaml(config_.sample)).outputs = {
        paths_.sample()};
    std::vector<std::string> results{"eval", "sample"};
    if (config_.knn.enabled) results.emplace_back("knn");
    if (!config_.qa.questions.empty()) results.emplace_back("qa");
    add("report", "report", results, {}).outputs = {paths_.report()};
  }

  const RunConfig& config_;
  RunPaths paths_;
  int threads_;
  std::vector<Stage> stages_;
};

}  // namespace

std::vector<Stage> list_stages(const RunConfig& config) { return StageList(config).build(); }

int execute_stage(const RunConfig& config, const std::string& name) {
  if (name == "tokenizer") return execute_tokenizer_stage(config);
  if (name == "corpus") return execute_corpus_stage(config);
  if (name == "database") return execute_database_stage(config);
  if (name == "index") return execute_index_stage(config);
  if (name == "neighbours.training")
    return execute_neighbours_stage(config, training_neighbour_sets(config));
  if (name == "neighbours.evaluation")
    return execute_neighbours_stage(config, evaluation_neighbour_sets(config));
  if (name == "fit") return execute_training_stage(config, "retro");
  if (name.starts_with("train.")) return execute_training_stage(config, name.substr(6));
  if (name.starts_with("passes.")) return execute_passes_stage(config, name.substr(7));
  if (name == "eval") return execute_evaluation_stage(config);
  if (name == "knn") return execute_knn_stage(config);
  if (name == "qa") return execute_qa_stage(config);
  if (name == "sample") return execute_sample_stage(config);
  if (name == "report") return execute_report_stage(config);
  throw Error(fmt::format("no stage named `{}`", name));
}

}  // namespace retro
