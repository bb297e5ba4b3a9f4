#include "retro/run/calibration.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <ATen/Parallel.h>
#include <torch/types.h>

#include "retro/core/log.h"
#include "retro/core/memory.h"
#include "retro/core/progress.h"
#include "retro/ops/device.h"
#include "retro/run/model_setup.h"
#include "retro/text/corpus_reader.h"
#include "retro/train/training_step.h"

#include "text_size.h"

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
constexpr double kSharedCoreFactor = 0.9;  // two trainings share caches and memory
constexpr double kForwardShare = 1.0 / 3;  // a forward pass costs a third of a training step

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

/// Of all steps, or of all epochs.
double training_tokens(const TrainConfig& train, const TextSize& text) {
  if (train.steps == 0)
    return static_cast<double>(train.epochs) * text.training_bytes / kBytesPerToken;
  return static_cast<double>(train.steps * train.accumulation * train.batch_size *
                             train.sequence_length);
}

}  // namespace

MachineRates measure_rates(const RunConfig& config) {
  const bool is_beside_another = trains_baseline(config);
  const int num_threads =
      is_beside_another ? std::max(1, run_threads(config) / 2) : run_threads(config);
  const double factor = is_beside_another ? kSharedCoreFactor : 1.0;
  MachineRates rates;
  keep_freed_memory();  // as the stages do
  rates.chunks_per_second = measure_embedding(config);
  if (!has_training_text(config)) return rates;
  rates.retro_tokens_per_second = factor * measure_training(config, false, num_threads);
  if (is_beside_another)
    rates.baseline_tokens_per_second = factor * measure_training(config, true, num_threads);
  return rates;
}

RunEstimate estimate_run(const RunConfig& config, const MachineRates& rates) {
  const TextSize text = measure_text(config);
  const double chunk_bytes = kBytesPerToken * static_cast<double>(config.database.chunk_length);
  const double shifted_chunks =
      text.evaluation_bytes / chunk_bytes * static_cast<double>(1 + config.eval.shifts.size());
  RunEstimate estimate;
  estimate.embed_seconds = (text.bytes / chunk_bytes + shifted_chunks) / rates.chunks_per_second;
  if (!has_training_text(config)) return estimate;
  // RETRO's: off, each k, each control, each shift but 0. The baseline's fewer ones run beside
  // them.
  const double passes = static_cast<double>(
      config.eval.neighbours.size() + config.eval.controls.size() + config.eval.shifts.size());
  const double slower = trains_baseline(config) ? std::min(rates.retro_tokens_per_second,
                                                           rates.baseline_tokens_per_second)
                                                : rates.retro_tokens_per_second;
  estimate.train_seconds = training_tokens(config.train, text) / slower;
  estimate.eval_seconds = passes * text.evaluation_bytes / kBytesPerToken * kForwardShare /
                          rates.retro_tokens_per_second;
  return estimate;
}

double estimate_database_tokens(const RunConfig& config) {
  return measure_text(config).database_bytes / kBytesPerToken;
}

RunEstimate estimate_on_this_machine(const RunConfig& config) {
  log_info("measuring this machine (half a minute at most)");
  const RunEstimate estimate = estimate_run(config, measure_rates(config));
  log_info("estimate for this machine: embedding {}, training {}, evaluation {}, in all {}",
           format_duration(estimate.embed_seconds), format_duration(estimate.train_seconds),
           format_duration(estimate.eval_seconds), format_duration(estimate.total()));
  return estimate;
}

nlohmann::json to_json(const MachineRates& rates, const RunEstimate& estimate) {
  return {{"chunks_per_second", rates.chunks_per_second},
          {"retro_tokens_per_second", rates.retro_tokens_per_second},
          {"baseline_tokens_per_second", rates.baseline_tokens_per_second},
          {"embed_seconds", estimate.embed_seconds},
          {"train_seconds", estimate.train_seconds},
          {"eval_seconds", estimate.eval_seconds},
          {"total_seconds", estimate.total()}};
}

}  // namespace retro
