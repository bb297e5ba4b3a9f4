// metrics.jsonl: what a training run measured, one JSON object a line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "retro/train/validation.h"

namespace retro {

/// {"kind":"train", ...}: means over the steps since the last line.
struct TrainMetrics {
  int64_t step = 0;    ///< optimizer steps done
  int64_t tokens = 0;  ///< real targets read in all
  double loss = 0;     ///< nats per target
  double learning_rate = 0;
  double gradient_norm = 0;
  double tokens_per_second = 0;
  std::optional<double> gemm_share;  ///< of this machine's GEMM peak of the same type, model FLOPs
                                     ///< without recomputation
  double k = 0;
  double seconds = 0;  ///< spent in training steps in all
};

/// {"kind":"validation", ...}; `on` is absent for a baseline.
struct ValidationMetrics {
  int64_t step = 0;
  int64_t tokens = 0;
  ValidationLoss off;
  std::optional<ValidationLoss> on;
};

class MetricsFile {
 public:
  /// Drops the lines after `step`: they belong to work that is done again; and the validation of
  /// `step` itself unless `is_validated`.
  MetricsFile(std::filesystem::path path, int64_t step, bool is_validated = true);
  void write(const TrainMetrics& metrics) const;
  void write(const ValidationMetrics& metrics) const;

 private:
  std::filesystem::path path_;
};

}  // namespace retro
