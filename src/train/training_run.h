// The loop of one training run and everything it holds.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "retro/data/data_loader.h"
#include "retro/train/frozen_cache.h"
#include "retro/train/lr_schedule.h"
#include "retro/train/metrics.h"
#include "retro/train/trainer.h"
#include "retro/train/training_step.h"

namespace retro {

/// Sums since the last line of metrics.jsonl.
struct MetricsWindow {
  double nats = 0;
  int64_t targets = 0;
  double gradient_norm = 0;
  double neighbours = 0;
  double forward_flops = 0;
  double seconds = 0;
  int64_t steps = 0;
  void add(const StepResult& step, double step_seconds);
};

class TrainingRun {
 public:
  TrainingRun(const TrainConfig& config, const TrainInputs& inputs,
              const std::filesystem::path& directory);
  TrainResult run();

 private:
  bool is_baseline() const { return model_->config().cca_layers.empty(); }
  bool is_last_step() const { return state_.step == total_steps_; }
  bool is_checkpoint_due() const;
  bool is_validation_due() const;
  void resume();
  void prepare_frozen_layers();
  DataLoader make_loader() const;
  StepResult run_step(DataLoader& loader);
  std::string last_good_checkpoint() const;
  void check_finite(const StepResult& step) const;
  void log_metrics();
  void run_validation();
  void make_up_validation();
  void save();
  void log_trained_share() const;
  std::string progress_detail() const;
  TrainResult result(TrainOutcome outcome) const;

  TrainConfig config_;
  TrainInputs inputs_;
  RetroModel model_;
  std::filesystem::path checkpoints_;
  AdamW optimizer_;
  std::optional<FrozenCache> frozen_cache_;
  std::unique_ptr<TrainingDataset> dataset_;
  std::optional<EvaluationDataset> validation_data_;
  int64_t total_steps_ = 0;
  int64_t total_micro_steps_ = 0;
  int64_t end_sequence_ = -1;
  LearningRateSchedule schedule_;
  double gemm_peak_ = 0;  ///< FLOP/s
  TrainState state_;
  std::filesystem::path last_checkpoint_;
  std::optional<MetricsFile> metrics_;
  MetricsWindow window_;
  double last_loss_ = 0;
  double last_tokens_per_second_ = 0;
  double last_gemm_share_ = 0;
  std::optional<ValidationMetrics> last_validation_;
};

}  // namespace retro
