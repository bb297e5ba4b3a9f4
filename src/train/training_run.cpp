#include "training_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include "retro/core/error.h"
#include "retro/core/log.h"
#include "retro/core/progress.h"
#include "retro/core/random.h"
#include "retro/core/signal.h"
#include "retro/ops/gemm_peak.h"
#include "retro/train/frozen_cost.h"

#include "resume_check.h"

namespace retro {

namespace {

AdamWConfig adamw_config(const TrainConfig& config) {
  AdamWConfig out;
  out.beta1 = config.beta1;
  out.beta2 = config.beta2;
  out.weight_decay = config.weight_decay;
  return out;
}

TrainingDataConfig data_config(const TrainConfig& config, int64_t chunk_length) {
  TrainingDataConfig out;
  out.chunks_per_sequence = config.sequence_length / chunk_length;
  out.batch_size = config.batch_size;
  out.sources = config.sources;
  out.curriculum = {config.neighbours, config.self_neighbour, config.useless_neighbours};
  out.seed = static_cast<uint64_t>(config.seed);
  return out;
}

ThreadShare thread_share(const std::string& name) {
  if (name == "sequences") return ThreadShare::kSequences;
  return name == "products" ? ThreadShare::kProducts : ThreadShare::kAuto;
}

int64_t largest(const std::vector<int64_t>& values) {
  return *std::max_element(values.begin(), values.end());
}

}  // namespace

void MetricsWindow::add(const StepResult& step, double step_seconds) {
  nats += step.loss * static_cast<double>(step.num_targets);
  targets += step.num_targets;
  gradient_norm += step.gradient_norm;
  neighbours += step.mean_neighbours;
  forward_flops += step.forward_flops;
  seconds += step_seconds;
  ++steps;
}

TrainingRun::TrainingRun(const TrainConfig& config, const TrainInputs& inputs,
                         const std::filesystem::path& directory)
    : config_(config),
      inputs_(inputs),
      model_(inputs.model),
      checkpoints_(directory / "checkpoints"),
      optimizer_(trained_parameters(inputs.model), adamw_config(config)) {
  const int64_t chunk_length = inputs_.training.grid->chunk_length();
  if (is_baseline()) inputs_.training.neighbours = nullptr;
  TrainingDataConfig data = data_config(config_, chunk_length);
  data.repeat_packing = inputs_.cache_frozen;
  dataset_ = std::make_unique<TrainingDataset>(inputs_.training, data);
  total_steps_ = total_steps(config_, *dataset_);
  total_micro_steps_ = total_steps_ * config_.accumulation;
  if (config_.epochs > 0) {
    end_sequence_ = dataset_->num_sequences(config_.epochs);
    total_micro_steps_ = (end_sequence_ + config_.batch_size - 1) / config_.batch_size;
  }
  RETRO_CHECK(config_.warmup_steps < total_steps_,
              "train.warmup_steps is {}, but {} epochs are {} steps: take fewer warm-up steps",
              config_.warmup_steps, config_.epochs, total_steps_);
  // Only now is the length of the leaky phase known in steps.
  const double leaky_steps = config_.self_neighbour.until * static_cast<double>(total_steps_);
  data.leaky_micro_steps = std::llround(leaky_steps) * config_.accumulation;
  dataset_ = std::make_unique<TrainingDataset>(inputs_.training, data);
  if (config_.validation_every > 0) {
    validation_data_.emplace(*inputs_.validation_grid, inputs_.training.end_of_document,
                             data.chunks_per_sequence);
  }
  schedule_ = {.peak = config_.learning_rate,
               .warmup_steps = config_.warmup_steps,
               .total_steps = total_steps_,
               .final_ratio = config_.final_learning_rate_ratio};
  state_.seed = config_.seed;
  state_.data_identity = inputs_.data_identity;
  resume();
  metrics_.emplace(directory / "metrics.jsonl", state_.step, state_.validation.has_value());
}

void TrainingRun::resume() {
  const auto newest = newest_checkpoint(checkpoints_);
  if (!newest) return;
  check_resumable(*newest, {model_->config(), config_}, inputs_.data_identity);
  state_ = load_checkpoint(newest->path, model_, optimizer_);
  last_checkpoint_ = newest->path;
  log_info("training goes on at step {} of {} ({})", state_.step, total_steps_,
           newest->path.string());
}

/// Says what a cache of the frozen layers would cost, and opens it where it is wanted.
void TrainingRun::prepare_frozen_layers() {
  if (model_->base_hash().empty() || is_baseline() || is_last_step()) return;
  const std::filesystem::path directory = checkpoints_.parent_path();
  FrozenCost cost =
      measure_frozen_cost(model_, dataset_->batch(state_.micro_step, end_sequence_), directory);
  cost.distinct = dataset_->num_sequences(1);
  cost.drawn = total_micro_steps_ * config_.batch_size;
  log_info("{}", cost.describe());
  if (inputs_.cache_frozen)
    frozen_cache_.emplace(directory / "frozen.cache", model_, config_.sequence_length);
}

bool TrainingRun::is_checkpoint_due() const {
  const int64_t every = config_.checkpoint_every;
  return is_last_step() || (every > 0 && state_.step % every == 0);
}

bool TrainingRun::is_validation_due() const {
  if (!validation_data_) return false;
  // Every checkpoint knows its validation, so that the best one can be kept.
  return is_checkpoint_due() || state_.step % config_.validation_every == 0;
}

DataLoader TrainingRun::make_loader() const {
  DataLoaderConfig loader;
  loader.first = state_.micro_step;
  loader.count = total_micro_steps_ - state_.micro_step;
  loader.num_threads = static_cast<int>(config_.data_threads);
  const bool is_pinned = model_->device().is_cuda();
  return {[this, is_pinned](int64_t i) {
            const Batch batch = dataset_->batch(i, end_sequence_);
            return is_pinned ? pinned(batch) : batch;
          },
          loader};
}

StepResult TrainingRun::run_step(DataLoader& loader) {
  const auto start = std::chrono::steady_clock::now();
  const auto next = [&] {
    // Dropout draws from Torch's generator: seeded by position, a resumed run draws the same.
    if (model_->config().dropout > 0) {
      RandomStream random(static_cast<uint64_t>(config_.seed), "dropout",
                          static_cast<uint64_t>(state_.micro_step));
      at::manual_seed(random.next_u64());
    }
    ++state_.micro_step;
    Batch batch = loader.next();
    if (frozen_cache_) batch.frozen_BND = frozen_cache_->stream(model_, batch);
    return batch;
  };
  const int64_t num_micro_batches =
      std::min(config_.accumulation, total_micro_steps_ - state_.micro_step);
  const StepResult step =
      training_step(model_, optimizer_, next, num_micro_batches,
                    {schedule_.at(state_.step), config_.clip, thread_share(config_.thread_share)});
  ++state_.step;
  check_finite(step);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  state_.tokens += step.num_targets;
  state_.seconds += elapsed.count();
  state_.validation.reset();
  window_.add(step, elapsed.count());
  last_loss_ = step.loss;
  return step;
}

std::string TrainingRun::last_good_checkpoint() const {
  if (last_checkpoint_.empty()) return "there is no checkpoint yet";
  return "the last good checkpoint is " + last_checkpoint_.string();
}

void TrainingRun::check_finite(const StepResult& step) const {
  if (std::isfinite(step.loss) && std::isfinite(step.gradient_norm)) return;
  const std::string good = last_good_checkpoint();
  RETRO_CHECK(
      std::isfinite(step.loss),
      "training stopped at step {}: the loss is {}; {}; a lower train.learning_rate or more "
      "train.warmup_steps may help",
      state_.step, std::abs(step.loss), good);  // the sign of a NaN says nothing
  RETRO_CHECK(false,
              "training stopped at step {}: the gradient norm is {}; {}; a lower "
              "train.learning_rate or more train.warmup_steps may help",
              state_.step, std::abs(step.gradient_norm), good);
}

void TrainingRun::log_metrics() {
  constexpr double kForwardAndBackward = 3.0;
  const auto steps = static_cast<double>(window_.steps);
  TrainMetrics line;
  line.step = state_.step;
  line.tokens = state_.tokens;
  line.loss = window_.nats / static_cast<double>(std::max<int64_t>(window_.targets, 1));
  line.learning_rate = schedule_.at(state_.step - 1);
  line.gradient_norm = window_.gradient_norm / steps;
  line.tokens_per_second = static_cast<double>(window_.targets) / window_.seconds;
  // With a frozen base the backward pass is no fixed multiple of the forward pass.
  if (model_->base_hash().empty())
    line.gemm_share = kForwardAndBackward * window_.forward_flops / (window_.seconds * gemm_peak_);
  line.k = window_.neighbours / steps;
  line.seconds = state_.seconds;
  metrics_->write(line);
  last_tokens_per_second_ = line.tokens_per_second;
  last_gemm_share_ = line.gemm_share.value_or(0);
  window_ = {};
}

void TrainingRun::run_validation() {
  ValidationSettings settings;
  settings.num_sequences = config_.validation_sequences;
  settings.batch_size = config_.batch_size;
  ValidationMetrics metrics;
  metrics.step = state_.step;
  metrics.tokens = state_.tokens;
  metrics.off = validate(model_, *validation_data_, nullptr, settings);
  if (!is_baseline()) {
    settings.k = inputs_.validation_k > 0 ? inputs_.validation_k : largest(config_.neighbours);
    metrics.on = validate(model_, *validation_data_, inputs_.validation_neighbours, settings);
  }
  state_.validation = metrics.on ? metrics.on->bits_per_byte() : metrics.off.bits_per_byte();
  RETRO_CHECK(std::isfinite(*state_.validation),
              "training stopped at step {}: the validation loss is not finite; {}", state_.step,
              last_good_checkpoint());
  metrics_->write(metrics);
  last_validation_ = metrics;
}

/// An interrupt goes before validation, so that a process ends at once. What it left out is made
/// up for, or the curve would have a hole and the best checkpoint might be another.
void TrainingRun::make_up_validation() {
  if (state_.step == 0 || state_.validation || !is_validation_due()) return;
  // The checkpoint it began from was not validated: it must not be called the last good one.
  const auto unvalidated = std::exchange(last_checkpoint_, {});
  run_validation();
  last_checkpoint_ = unvalidated;
  save();
}

void TrainingRun::save() {
  last_checkpoint_ =
      save_checkpoint(checkpoints_, model_, optimizer_, state_, {model_->config(), config_});
  prune_checkpoints(checkpoints_, config_.keep_last);
}

std::string TrainingRun::progress_detail() const {
  std::string detail = fmt::format("loss {:.3f}", last_loss_);
  if (last_tokens_per_second_ > 0) {
    detail += fmt::format("  {} tokens/s", format_count(std::llround(last_tokens_per_second_)));
    if (last_gemm_share_ > 0)
      detail += fmt::format("  {:.0f} % of GEMM peak", 100.0 * last_gemm_share_);
  }
  if (state_.validation) detail += fmt::format("  validation {:.4f} bpb", *state_.validation);
  return detail;
}

void TrainingRun::log_trained_share() const {
  const int64_t all = model_->num_parameters(), trained = model_->num_trained_parameters();
  if (trained == all) return;
  log_info("{} of {} weights are trained ({:.1f} %); the base stays as it is",
           format_count(trained), format_count(all),
           100.0 * static_cast<double>(trained) / static_cast<double>(all));
}

TrainResult TrainingRun::run() {
  const InterruptGuard guard;
  gemm_peak_ = inputs_.gemm_peak > 0 ? inputs_.gemm_peak
                                     : measure_gemm_peak(model_->precision(), at::get_num_threads(),
                                                         model_->device());
  model_->train();
  log_trained_share();
  make_up_validation();
  prepare_frozen_layers();
  Progress progress("train", total_steps_, "steps", state_.step);
  DataLoader loader = make_loader();
  while (!is_last_step()) {
    run_step(loader);
    const bool is_stopped = interrupt_requested() || (inputs_.should_stop && inputs_.should_stop());
    if (is_last_step() || is_stopped || state_.step % config_.log_every == 0) log_metrics();
    if ((!is_stopped || is_last_step()) && is_validation_due()) run_validation();
    if (is_stopped || is_checkpoint_due()) save();
    progress.update(state_.step, progress_detail());
    if (is_stopped && !is_last_step()) return result(TrainOutcome::kInterrupted);
  }
  if (frozen_cache_) std::filesystem::remove(frozen_cache_->path());
  return result(TrainOutcome::kFinished);
}

TrainResult TrainingRun::result(TrainOutcome outcome) const {
  return {.outcome = outcome,
          .step = state_.step,
          .total_steps = total_steps_,
          .tokens = state_.tokens,
          .seconds = state_.seconds,
          .loss = last_loss_,
          .validation = last_validation_,
          .checkpoint = last_checkpoint_};
}

}  // namespace retro
