#include "retro/train/metrics.h"

#include <sstream>
#include <utility>

#include "retro/core/file_system.h"
#include "retro/core/json.h"

namespace retro {

namespace {

/// False for work after `step` (a validation is later than training), and for a line cut off by a
/// kill.
bool is_kept(const std::string& line, int64_t step, bool is_validated) {
  const auto value = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!value.is_object()) return false;
  const bool is_validation = value.value("kind", "") == "validation";
  return value.value("step", step + 1) <= (is_validation && !is_validated ? step - 1 : step);
}

nlohmann::json loss_json(const ValidationLoss& loss) {
  return {{"loss", loss.loss()},
          {"bits_per_byte", loss.bits_per_byte()},
          {"targets", loss.num_targets},
          {"bytes", loss.num_bytes}};
}

}  // namespace

MetricsFile::MetricsFile(std::filesystem::path path, int64_t step, bool is_validated)
    : path_(std::move(path)) {
  if (!std::filesystem::exists(path_)) return;
  const std::string before = read_file(path_);
  std::istringstream lines(before);
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    if (is_kept(line, step, is_validated)) kept += line + "\n";
  }
  if (kept != before) write_file(path_, kept);
}

void MetricsFile::write(const TrainMetrics& metrics) const {
  nlohmann::json line = {{"kind", "train"},
                         {"step", metrics.step},
                         {"tokens", metrics.tokens},
                         {"loss", metrics.loss},
                         {"lr", metrics.learning_rate},
                         {"grad_norm", metrics.gradient_norm},
                         {"tokens_per_second", metrics.tokens_per_second},
                         {"k", metrics.k},
                         {"seconds", metrics.seconds}};
  if (metrics.gemm_share) line["gemm_share"] = *metrics.gemm_share;
  append_line(path_, json_line(line));
}

void MetricsFile::write(const ValidationMetrics& metrics) const {
  nlohmann::json line = {{"kind", "validation"},
                         {"step", metrics.step},
                         {"tokens", metrics.tokens},
                         {"off", loss_json(metrics.off)}};
  if (metrics.on) line["on"] = loss_json(*metrics.on);
  append_line(path_, json_line(line));
}

}  // namespace retro
