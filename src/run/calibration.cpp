#include "retro/run/calibration.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <ATen/Parallel.h>
#include <torch/types.h>

#include "retro/core/config_yaml.h"
#include "retro/core/error.h"
#include "retro/core/hash.h"
#include "retro/core/json.h"
#include "retro/core/log.h"
#include "retro/core/memory.h"
#include "retro/core/progress.h"
#include "retro/core/random.h"
#include "retro/ops/device.h"
#include "retro/run/model_setup.h"
#include "retro/run/stages.h"
#include "retro/text/corpus_reader.h"
#include "retro/train/training_step.h"

namespace retro {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_of(const std::function<void()>& work) {
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The median of some times after the first: other work on the machine comes and goes.
double usual_seconds(const std::function<void()>& work) {
  constexpr size_t kTimes = 9;
  work();
  std::vector<double> seconds;
  for (size_t i = 0; i < kTimes; ++i) seconds.push_back(seconds_of(work));
  std::ranges::nth_element(seconds, seconds.begin() + kTimes / 2);
  return seconds[kTimes / 2];
}

constexpr int64_t kCalibrationChunks = 256;
constexpr double kBytesPerToken = 3.6;     // 4,096-piece models on English; only estimates use it
constexpr double kSharedCoreFactor = 0.9;  // two trainings share caches and memory
constexpr double kForwardShare = 1.0 / 3;  // a forward pass costs a third of a training step

/// What the sources hold, after max_documents.
struct TextSize {
  double bytes = 0;
  double evaluation_bytes = 0;     ///< capped by eval.max_chunks_per_document
  double database_bytes = 0;       ///< held-out documents included
  std::vector<int64_t> documents;  ///< per source
};

TextSize measure_text(const RunConfig& config) {
  TextSize size;
  const double cap =
      static_cast<double>(config.eval.max_chunks_per_document * config.database.chunk_length) *
      kBytesPerToken;
  for (const SourceConfig& source : config.corpus.sources) {
    double bytes = 0, capped = 0;
    int64_t count = 0;
    read_documents(source.path, [&](RawDocument&& document) {
      const auto length = static_cast<double>(document.text.size());
      bytes += length;
      capped += cap > 0 ? std::min(cap, length) : length;
      ++count;
    });
    const double share = source.max_documents > 0
                             ? std::min(1.0, static_cast<double>(source.max_documents) /
                                                 static_cast<double>(std::max<int64_t>(1, count)))
                             : 1.0;
    size.bytes += bytes * share;
    if (source.kind == "evaluated") size.evaluation_bytes += capped * share * source.test_share;
    if (source.kind == "database" || source.in_database) size.database_bytes += bytes * share;
    size.documents.push_back(count);
  }
  return size;
}

/// Texts of about a chunk's length, from the first source.
std::vector<std::string> calibration_texts(const RunConfig& config) {
  struct Enough {};
  std::vector<std::string> texts;
  const auto length =
      static_cast<size_t>(static_cast<double>(config.database.chunk_length) * kBytesPerToken);
  try {
    read_documents(config.corpus.sources.front().path, [&](RawDocument&& document) {
      for (size_t at = 0; at < document.text.size(); at += length) {
        texts.push_back(document.text.substr(at, length));
        if (static_cast<int64_t>(texts.size()) == kCalibrationChunks) throw Enough{};
      }
    });
  } catch (const Enough&) {
  }
  return texts;
}

double measure_embedding(const RunConfig& config) {
  const auto embedder = make_embedder(config.embed);
  const std::vector<std::string> texts = calibration_texts(config);
  std::vector<float> keys(texts.size() * static_cast<size_t>(embedder->key_width()));
  std::vector<uint8_t> has_key(texts.size());
  at::set_num_threads(run_threads(config));
  const auto embed = [&] { embedder->embed(texts, keys, has_key); };
  embed();
  return static_cast<double>(texts.size()) / seconds_of(embed);
}

Batch random_batch(const RunConfig& config, int64_t vocabulary, int64_t k) {
  const int64_t B = config.train.batch_size, N = config.train.sequence_length,
                m = config.database.chunk_length;
  Batch batch;
  batch.tokens_BN = torch::randint(vocabulary, {B, N}, torch::kInt64);
  batch.real_BN = torch::ones({B, N}, torch::kBool);
  batch.targets_BN = torch::randint(vocabulary, {B, N}, torch::kInt64);
  batch.target_is_real_BN = torch::ones({B, N}, torch::kBool);
  batch.document_BN = torch::zeros({B, N}, torch::kInt64);
  if (k > 0)
    batch.neighbours_BLKR = torch::randint(vocabulary, {B, N / m, k, 2 * m}, torch::kInt64);
  batch.num_targets = B * N;
  return batch;
}

double measure_training(const RunConfig& config, bool is_baseline, int num_threads) {
  at::set_num_threads(num_threads);
  ModelConfig shape = config.model;
  if (shape.vocabulary == 0) shape.vocabulary = config.tokenizer.vocabulary;
  if (is_baseline) shape.cca_layers.clear();
  RetroModel model(shape.resolved(), 1);
  model->to(resolve_device(config.device));
  model->set_precision(resolve_precision(config.train.precision, model->device()));
  if (!is_baseline && config.fit.is_enabled() && config.fit.is_frozen())
    model->freeze_base("of the measurement");
  AdamW optimizer(trained_parameters(model), {});
  // As training draws them, evenly.
  const std::vector<int64_t> counts =
      is_baseline ? std::vector<int64_t>{0} : config.train.neighbours;
  double seconds = 0, targets = 0;
  for (const int64_t k : counts) {
    const Batch batch = random_batch(config, shape.vocabulary, k);
    seconds += usual_seconds([&] {
      (void)training_step(model, optimizer, [&] { return batch; }, 1, {1e-4, 1.0});
    });
    targets += static_cast<double>(batch.num_targets);
  }
  return targets / seconds;
}

/// Remembers the share taken, so that a second run has the same stage keys.
std::filesystem::path budget_path(const RunConfig& config) {
  return RunPaths(config).directory() / "budget.json";
}

std::optional<double> remembered_share(const RunConfig& config, const std::string& key) {
  if (!std::filesystem::exists(budget_path(config))) return std::nullopt;
  const auto record = read_json_file(budget_path(config));
  if (record.value("key", std::string{}) != key) return std::nullopt;
  return record.value("share", 1.0);
}

RunConfig scaled(const RunConfig& config, double share, const std::vector<int64_t>& documents) {
  RunConfig smaller = config;
  smaller.train.steps =
      std::max<int64_t>(1, std::llround(static_cast<double>(config.train.steps) * share));
  for (size_t i = 0; i < smaller.corpus.sources.size(); ++i) {
    SourceConfig& source = smaller.corpus.sources[i];
    const int64_t all =
        source.max_documents > 0 ? std::min(source.max_documents, documents[i]) : documents[i];
    source.max_documents = std::max<int64_t>(1, std::llround(static_cast<double>(all) * share));
  }
  return smaller;
}

}  // namespace

MachineRates measure_rates(const RunConfig& config) {
  const int side_by_side =
      config.baseline.enabled ? std::max(1, run_threads(config) / 2) : run_threads(config);
  MachineRates rates;
  keep_freed_memory();  // as the stages do
  rates.chunks_per_second = measure_embedding(config);
  rates.retro_tokens_per_second = kSharedCoreFactor * measure_training(config, false, side_by_side);
  rates.baseline_tokens_per_second =
      kSharedCoreFactor * measure_training(config, true, side_by_side);
  return rates;
}

RunEstimate estimate_run(const RunConfig& config, const MachineRates& rates) {
  const TextSize text = measure_text(config);
  // RETRO's: off, each k, each control, each shift but 0. The baseline's fewer ones run beside
  // them.
  const double passes = static_cast<double>(
      config.eval.neighbours.size() + config.eval.controls.size() + config.eval.shifts.size());
  const double shifted_chunks = text.evaluation_bytes / kBytesPerToken /
                                static_cast<double>(config.database.chunk_length) *
                                static_cast<double>(1 + config.eval.shifts.size());
  const double chunks =
      text.bytes / kBytesPerToken / static_cast<double>(config.database.chunk_length) +
      shifted_chunks;
  const auto tokens = static_cast<double>(config.train.steps * config.train.accumulation *
                                          config.train.batch_size * config.train.sequence_length);
  const double slower = config.baseline.enabled ? std::min(rates.retro_tokens_per_second,
                                                           rates.baseline_tokens_per_second)
                                                : rates.retro_tokens_per_second;
  RunEstimate estimate;
  estimate.embed_seconds = chunks / rates.chunks_per_second;
  estimate.train_seconds = tokens / slower;
  estimate.eval_seconds = passes * text.evaluation_bytes / kBytesPerToken * kForwardShare /
                          rates.retro_tokens_per_second;
  return estimate;
}

double estimate_database_tokens(const RunConfig& config) {
  return measure_text(config).database_bytes / kBytesPerToken;
}

RunConfig fit_to_budget(const RunConfig& config) {
  if (config.time_budget_minutes <= 0) return config;
  const std::string key = hash_text(to_yaml(config));
  std::optional<double> share = remembered_share(config, key);
  if (!share) {
    log_info("measuring this machine (half a minute at most)");
    const RunEstimate estimate = estimate_run(config, measure_rates(config));
    const double budget = 60 * config.time_budget_minutes;
    share = std::min(1.0, budget / estimate.total());
    log_info("estimate for this machine: embedding {}, training {}, evaluation {}, in all {}",
             format_duration(estimate.embed_seconds), format_duration(estimate.train_seconds),
             format_duration(estimate.eval_seconds), format_duration(estimate.total()));
    std::filesystem::create_directories(config.directory);
    write_json_file(budget_path(config), {{"key", key}, {"share", *share}});
  }
  if (*share >= 1.0) return config;
  log_warning(
      "this machine is too slow for the whole run in {:.0f} minutes: it takes {:.0f} % of the text "
      "and of the "
      "training steps (time_budget_minutes=0 takes all)",
      config.time_budget_minutes, 100 * *share);
  return scaled(config, *share, measure_text(config).documents);
}

}  // namespace retro
