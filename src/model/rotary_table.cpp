#include "retro/model/rotary_table.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <c10/core/InferenceMode.h>

namespace retro {
namespace {

/// 1 keeps a frequency, 0 stretches it by the whole factor.
double kept_share_llama3(const RotaryConfig& rotary, double frequency) {
  const double turns =
      static_cast<double>(rotary.original_length) * frequency / (2 * std::numbers::pi);
  const double share = (turns - rotary.low_frequency_factor) /
                       (rotary.high_frequency_factor - rotary.low_frequency_factor);
  return std::clamp(share, 0.0, 1.0);
}

/// Index of the pair that makes `turns` turns within the original length.
double pair_of_turns(const RotaryConfig& rotary, int64_t head_width, double turns) {
  const double length = static_cast<double>(rotary.original_length);
  return static_cast<double>(head_width) * std::log(length / (turns * 2 * std::numbers::pi)) /
         (2 * std::log(rotary.base));
}

double kept_share_yarn(const RotaryConfig& rotary, int64_t head_width, int64_t pair) {
  const double last = static_cast<double>(head_width - 1);
  const double low = std::max(std::floor(pair_of_turns(rotary, head_width, rotary.beta_fast)), 0.0);
  double high = std::min(std::ceil(pair_of_turns(rotary, head_width, rotary.beta_slow)), last);
  if (high == low) high += 0.001;  // as the published implementation
  return 1.0 - std::clamp((static_cast<double>(pair) - low) / (high - low), 0.0, 1.0);
}

}  // namespace

double rotary_attention_factor(const RotaryConfig& rotary) {
  if (rotary.scaling != "yarn") return 1.0;
  if (rotary.attention_factor > 0) return rotary.attention_factor;
  return 0.1 * std::log(rotary.factor) + 1.0;
}

std::vector<double> rotary_frequencies(const RotaryConfig& rotary, int64_t head_width) {
  const auto width = static_cast<double>(head_width);
  double base = rotary.base;
  if (rotary.scaling == "ntk" && head_width > 2)
    base *= std::pow(rotary.factor, width / (width - 2));
  std::vector<double> frequencies;
  for (int64_t pair = 0; pair < head_width / 2; ++pair) {
    const double frequency = std::pow(base, -2.0 * static_cast<double>(pair) / width);
    double kept = 1.0;
    if (rotary.scaling == "linear") kept = 0.0;
    if (rotary.scaling == "llama3") kept = kept_share_llama3(rotary, frequency);
    if (rotary.scaling == "yarn") kept = kept_share_yarn(rotary, head_width, pair);
    frequencies.push_back(kept * frequency + (1.0 - kept) * frequency / rotary.factor);
  }
  return frequencies;
}

RotaryTable::RotaryTable(const RotaryConfig& rotary, int64_t head_width)
    : frequencies_(rotary_frequencies(rotary, head_width)),
      attention_factor_(rotary_attention_factor(rotary)) {}

RotaryAngles RotaryTable::first(int64_t count, const at::Tensor& like) {
  const std::lock_guard lock(mutex_);
  // A table first needed while sampling must serve training later: it is no inference tensor.
  const c10::InferenceMode normal_mode(false);
  const at::NoGradGuard no_gradients;
  const at::ScalarType type = like.scalar_type() == at::kBFloat16 ? at::kFloat : like.scalar_type();
  const bool fits = table_.cos_NF.defined() && table_.cos_NF.size(0) >= count &&
                    table_.cos_NF.scalar_type() == type && table_.cos_NF.device() == like.device();
  if (!fits) {
    const int64_t grown = table_.cos_NF.defined() ? std::max(count, table_.cos_NF.size(0)) : count;
    const at::Tensor angle =
        at::arange(grown, at::kDouble).unsqueeze(1) *
        at::tensor(at::ArrayRef<double>(frequencies_), at::kDouble).unsqueeze(0);
    table_ = {(angle.cos() * attention_factor_).to(like.device(), type),
              (angle.sin() * attention_factor_).to(like.device(), type)};
  }
  return {table_.cos_NF.narrow(0, 0, count), table_.sin_NF.narrow(0, 0, count)};
}

RotaryAngles RotaryTable::of(const at::Tensor& positions_N, int64_t end, const at::Tensor& like) {
  const RotaryAngles all = first(end, like);
  return {all.cos_NF.index_select(0, positions_N), all.sin_NF.index_select(0, positions_N)};
}

}  // namespace retro
