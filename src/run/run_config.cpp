#include "retro/run/run_config.h"

#include <algorithm>

#include "retro/core/bundle.h"
#include "retro/core/config_yaml.h"
#include "retro/core/error.h"
#include "retro/core/log.h"
#include "retro/core/parallel.h"
#include "retro/data/retro_dataset.h"
#include "retro/run/run_bundle.h"

namespace retro {

namespace fs = std::filesystem;

void NeighboursConfig::visit_fields(FieldVisitor& visit) {
  visit("count", count,
        "neighbours stored per chunk, at least 10 and at least the largest k in use");
  visit.choice("exclude", exclude, {"document", "group"},
               "what a chunk may not find: its own document, or every version of it");
}

void BaselineConfig::visit_fields(FieldVisitor& visit) {
  visit("enabled", enabled, "train a baseline of the same shape without retrieval beside RETRO");
  visit("parameter_matched", parameter_matched,
        "also train one with RETRO's number of parameters (a wider feed-forward)");
  visit("database_text", database_text,
        "also train one on the database's text, for as many steps (RETRO reads it at every step)");
  visit("learning_rate", learning_rate,
        "highest learning rate of the baseline; 0: train.learning_rate");
}

void RunConfig::visit_fields(FieldVisitor& visit) {
  visit("directory", directory, "folder that holds everything this run makes");
  visit("dependencies", dependencies,
        "folder of tools/setup.sh; replaces {dependencies} in the paths below");
  visit("seed", seed, "of the split's samples, initial weights, data order and controls");
  visit.choice("device", device, {"cpu", "cuda"},
               "where the language models are trained, evaluated and sampled; embedding and search "
               "stay on the CPU");
  visit("threads", threads, "threads to use in all; 0: the cores of this machine");
  visit("time_budget_minutes", time_budget_minutes,
        "0: none; else, after a short calibration, training and text are cut to a share that fits");
  visit("corpus", corpus, "text");
  visit("tokenizer", tokenizer, "the language model's tokenizer");
  visit("embed", embed, "the frozen encoder of the database's keys");
  visit("database", database, "the retrieval database");
  visit("index", index, "the index over its keys");
  visit("neighbours", neighbours, "the stored neighbours of training and evaluation chunks");
  visit("model", model, "the RETRO model");
  visit("fit", fit, "RETRO-fitting a trained decoder instead of training from scratch");
  visit("train", train, "training");
  visit("baseline", baseline, "the model without retrieval that RETRO is compared with");
  visit("eval", eval, "evaluation");
  visit("knn", knn, "kNN-LM beside RETRO over the same database text");
  visit("qa", qa, "open-book question answering");
  visit("sample", sample, "sampling");
}

namespace {

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

std::string absolute_path(const std::string& path) {
  return fs::absolute(path).lexically_normal().string();
}

void resolve_path(std::string& path, const RunConfig& config) {
  if (path.empty() || path.starts_with("hashed:")) return;
  replace_all(path, "{dependencies}", config.dependencies);
  replace_all(path, "{directory}", config.directory);
  path = absolute_path(path);
}

/// It has no text of its own.
bool is_packed(const RunConfig& config) { return path_exists(packed_weights(config)); }

bool is_any_of_section(const std::vector<std::string>& overrides, const std::string& section) {
  return std::ranges::any_of(
      overrides, [&](const std::string& text) { return text.starts_with(section + "."); });
}

/// The base brings the decoder's shape and the tokenizer.
void apply_base(RunConfig& config) {
  config.fit.base = absolute_path(config.fit.base);
  const BaseFiles base = find_base(config.fit.base);
  config.model = fitted_model_config(config.fit, config.model);
  if (config.tokenizer.path.empty()) config.tokenizer.path = base.tokenizer.string();
  RETRO_CHECK(!config.tokenizer.path.empty(),
              "fit.base: there is no tokenizer in {}; name it in tokenizer.path", config.fit.base);
}

/// What not every system's packages hold.
void leave_out_missing_sources(RunConfig& config) {
  const bool has_weights = !config.train.sources.empty();
  std::erase_if(config.corpus.sources, [&](const SourceConfig& source) {
    if (!source.optional || path_exists(source.path)) return false;
    log_warning("corpus source '{}' is left out: there is no {}", source.name, source.path);
    config.train.sources.erase(source.name);
    return true;
  });
  RETRO_CHECK(
      !has_weights || !config.train.sources.empty(),
      "train.sources: every source in it is optional and left out, so nothing is trained on");
}

/// Said before anything is made: training looks at its weights only after hours, perhaps.
void check_source_weights(const RunConfig& config) {
  if (config.corpus.sources.empty()) return;
  std::vector<std::string> names;
  for (const SourceConfig& source : config.corpus.sources) names.push_back(source.name);
  for (const auto& [name, weight] : config.train.sources) {
    if (std::ranges::find(names, name) != names.end()) continue;
    const std::string nearest = nearest_name(name, names);
    throw Error(fmt::format("train.sources.{}: corpus.sources has no such name{}", name,
                            nearest.empty() ? "" : fmt::format(", did you mean `{}`?", nearest)));
  }
}

}  // namespace

RunConfig load_run_config(const fs::path& file_or_directory,
                          const std::vector<std::string>& overrides) {
  const bool is_run = fs::is_directory(file_or_directory) || is_bundle(file_or_directory);
  const fs::path file = is_run ? file_or_directory / "config.yaml" : file_or_directory;
  RETRO_CHECK(path_exists(file), "{}: no such {}", file.string(),
              is_run ? "file: the folder is not a run directory" : "config file");
  ConfigSource source = ConfigSource::from_file(file);
  for (const std::string& assignment : overrides) source.apply_override(assignment);
  RunConfig config;
  source.parse(config);
  const bool is_moved = std::ranges::any_of(
      overrides, [](const std::string& text) { return text.starts_with("directory="); });
  config.directory =
      absolute_path(is_run && !is_moved ? file_or_directory.string() : config.directory);
  config.dependencies = absolute_path(config.dependencies);
  for (SourceConfig& text : config.corpus.sources) resolve_path(text.path, config);
  if (!is_run) leave_out_missing_sources(config);
  resolve_path(config.embed.model, config);
  resolve_path(config.tokenizer.path, config);
  resolve_path(config.qa.questions, config);
  replace_all(config.fit.base, "{dependencies}", config.dependencies);
  if (config.fit.is_enabled()) {
    // A run's own file holds the shape that an earlier base and `fit` section made.
    if (is_run && !is_any_of_section(overrides, "model"))
      config.model = unfitted_model_config(config.model);
    apply_base(config);
  }
  check_run_config(config);
  return config;
}

namespace {

/// Learned positions end somewhere.
void check_positions(const char* key, int64_t tokens, const ModelConfig& model) {
  const int64_t known = model.block.max_positions;
  RETRO_CHECK(known == 0 || tokens <= known,
              "{} is {}, but the model has {} learned positions (model.block.max_positions): take "
              "at most {}",
              key, tokens, known, known / model.chunk_length * model.chunk_length);
}

/// A window of 0 tokens is as long as those of training.
struct WindowKey {
  WindowKey(const char* name, int64_t given, const RunConfig& config)
      : key(given > 0 ? name : "train.sequence_length"),
        tokens(given > 0 ? given : config.train.sequence_length) {}
  const char* key;
  int64_t tokens;
};

void check_eval_windows(const RunConfig& config) {
  const int64_t m = config.model.chunk_length;
  const WindowKey window("eval.sequence_length", config.eval.sequence_length, config);
  RETRO_CHECK(window.tokens % m == 0, "{} is {}: it must be a multiple of the chunk length {}",
              window.key, window.tokens, m);
  check_positions(window.key, window.tokens, config.model);
  std::vector<double> overlaps = config.eval.windows;
  overlaps.push_back(config.eval.window_overlap);
  for (const double overlap : overlaps) {
    try {
      (void)window_stride(window.tokens / m, m, overlap);
    } catch (const Error& error) {
      throw Error(fmt::format("eval.window_overlap, eval.windows: {}", error.what()));
    }
  }
}

void check_sample_window(const RunConfig& config) {
  const int64_t m = config.model.chunk_length;
  const WindowKey window("sample.sequence_length", config.sample.sequence_length, config);
  RETRO_CHECK(window.tokens % m == 0 && window.tokens >= 2 * m,
              "{} is {}, the window of sampling, which must be a multiple of the chunk length {}, "
              "at least {}: set sample.sequence_length",
              window.key, window.tokens, m, 2 * m);
  check_positions(window.key, window.tokens, config.model);
}

/// What comes after hours of training is refused before them.
void check_later_stages(const RunConfig& config) {
  if (!has_training_text(config)) return;
  check_sample_config(config.sample);
  check_sample_window(config);
  // A bundle is only sampled and searched: the rest of its configuration is nobody's wish.
  if (is_packed(config)) return;
  check_eval_config(config.eval, config.database.chunk_length,
                    std::max(config.neighbours.count, evaluation_neighbours(config.eval)));
  check_eval_windows(config);
  if (config.knn.enabled) check_knn_config(config.knn);
  if (!config.qa.questions.empty()) check_qa_config(config.qa);
}

}  // namespace

void check_run_config(const RunConfig& config) {
  RETRO_CHECK(!config.corpus.sources.empty() || is_packed(config),
              "corpus.sources is empty: name at least one source of documents");
  RETRO_CHECK(!config.embed.model.empty(),
              "embed.model is empty: give a BERT directory, or hashed:WIDTH");
  (void)MemoryBudget::parse(config.database.memory_budget);
  RETRO_CHECK(config.model.chunk_length == config.database.chunk_length,
              "model.chunk_length is {} and database.chunk_length is {}: they must be equal",
              config.model.chunk_length, config.database.chunk_length);
  const int64_t largest_k =
      config.train.neighbours.empty()
          ? 0
          : *std::max_element(config.train.neighbours.begin(), config.train.neighbours.end());
  RETRO_CHECK(config.neighbours.count >= std::max<int64_t>(10, largest_k),
              "neighbours.count is {}: it must be at least 10 and at least the largest k in "
              "train.neighbours ({})",
              config.neighbours.count, largest_k);
  RETRO_CHECK(
      config.eval.neighbours.empty() || config.eval.neighbours.front() <= config.neighbours.count,
      "eval.neighbours begins with {}, the headline: it must be at most neighbours.count "
      "({}), which the controls' tables hold",
      config.eval.neighbours.empty() ? 0 : config.eval.neighbours.front(), config.neighbours.count);
  const bool is_beside_training = config.knn.enabled || !config.qa.questions.empty() ||
                                  config.baseline.parameter_matched ||
                                  config.baseline.database_text;
  RETRO_CHECK(!config.fit.is_enabled() || !is_beside_training,
              "fit.base is set: knn.enabled, qa.questions, baseline.parameter_matched and "
              "baseline.database_text are for runs that train from scratch");
  RETRO_CHECK(
      config.fit.is_frozen() ||
          (config.fit.base_precision == "float32" && !config.fit.cache_frozen),
      "fit.base_precision and fit.cache_frozen are for a frozen base, but fit.freeze is none");
  check_source_weights(config);
  (void)config.model.resolved();
  if (has_training_text(config)) {
    config.train.check(config.model.chunk_length);
    check_positions("train.sequence_length", config.train.sequence_length, config.model);
  }
  check_later_stages(config);
}

bool has_training_text(const RunConfig& config) {
  const auto& sources = config.corpus.sources;
  return sources.empty() || std::ranges::any_of(sources, [](const SourceConfig& source) {
           return source.kind == "evaluated";
         });
}

int run_threads(const RunConfig& config) {
  return config.threads > 0 ? static_cast<int>(config.threads) : default_thread_count();
}

}  // namespace retro
