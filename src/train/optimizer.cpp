#include "retro/train/optimizer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <utility>

#include <ATen/Parallel.h>
#include <ATen/ops/zeros_like.h>

#include "retro/core/error.h"
#include "retro/core/safetensors.h"

#include "adamw_kernel.h"

namespace retro {

bool has_weight_decay(std::string_view parameter_name) {
  const size_t dot = parameter_name.rfind('.');
  const auto leaf = dot == std::string_view::npos ? parameter_name : parameter_name.substr(dot + 1);
  if (leaf == "content_bias" || leaf == "position_bias" || leaf == "bias") return false;
  // Every gain is the weight of a module whose name ends in "norm".
  const auto module = parameter_name.substr(0, dot == std::string_view::npos ? 0 : dot);
  return !module.ends_with("norm");
}

namespace {

/// Long enough to amortise a task, short enough to share the embedding between threads.
constexpr int64_t kBlockSize = 1 << 15;

void check_parameter(const NamedParameter& parameter) {
  const at::Tensor& value = parameter.value;
  RETRO_CHECK(value.is_cpu() && value.is_contiguous() && value.scalar_type() == at::kFloat,
              "optimizer: parameter {} must be a contiguous float32 tensor on the CPU",
              parameter.name);
}

/// The gradient in the parameter's own layout; undefined if there is none.
at::Tensor gradient_of(const at::Tensor& parameter) {
  const at::Tensor& gradient = parameter.grad();
  return gradient.defined() ? gradient.contiguous() : at::Tensor();
}

struct NormBlock {
  const float* values;
  int64_t size;
};

struct UpdateBlock {
  AdamWBlock arrays;
  AdamWFactors factors;
};

}  // namespace

AdamW::AdamW(std::vector<NamedParameter> parameters, const AdamWConfig& config) : config_(config) {
  for (NamedParameter& parameter : parameters) {
    check_parameter(parameter);
    State state;
    state.is_decayed = has_weight_decay(parameter.name);
    state.exp_avg = at::zeros_like(parameter.value.detach());
    state.exp_avg_sq = at::zeros_like(parameter.value.detach());
    state.parameter = std::move(parameter);
    states_.push_back(std::move(state));
  }
}

double AdamW::gradient_norm() const {
  std::vector<at::Tensor> gradients;
  std::vector<NormBlock> blocks;
  for (const State& state : states_) {
    const at::Tensor gradient = gradient_of(state.parameter.value);
    if (!gradient.defined()) continue;
    const float* values = gradient.const_data_ptr<float>();
    for (int64_t begin = 0; begin < gradient.numel(); begin += kBlockSize) {
      blocks.push_back({values + begin, std::min(kBlockSize, gradient.numel() - begin)});
    }
    gradients.push_back(gradient);
  }
  // One sum a block, added in order: the same bits for any number of threads.
  std::vector<double> sums(blocks.size());
  at::parallel_for(0, static_cast<int64_t>(blocks.size()), 1, [&](int64_t begin, int64_t end) {
    for (auto b = static_cast<size_t>(begin); b < static_cast<size_t>(end); ++b) {
      sums[b] = sum_of_squares(blocks[b].values, blocks[b].size);
    }
  });
  double total = 0;
  for (const double sum : sums) total += sum;
  return std::sqrt(total);
}

void AdamW::step(double learning_rate, double gradient_scale) {
  std::vector<at::Tensor> gradients;
  std::vector<UpdateBlock> blocks;
  for (State& state : states_) {
    const at::Tensor gradient = gradient_of(state.parameter.value);
    if (!gradient.defined()) continue;
    gradients.push_back(gradient);
    const auto t = static_cast<double>(++state.num_steps);
    const double decay = state.is_decayed ? learning_rate * config_.weight_decay : 0.0;
    AdamWFactors factors;
    factors.gradient_scale = static_cast<float>(gradient_scale);
    factors.beta1 = static_cast<float>(config_.beta1);
    factors.beta2 = static_cast<float>(config_.beta2);
    factors.decay = static_cast<float>(1.0 - decay);
    factors.step_size = static_cast<float>(learning_rate / (1.0 - std::pow(config_.beta1, t)));
    factors.root_scale = static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(config_.beta2, t)));
    factors.epsilon = static_cast<float>(config_.epsilon);
    const AdamWBlock whole{state.parameter.value.data_ptr<float>(),
                           gradient.const_data_ptr<float>(), state.exp_avg.data_ptr<float>(),
                           state.exp_avg_sq.data_ptr<float>(), gradient.numel()};
    for (int64_t begin = 0; begin < whole.size; begin += kBlockSize) {
      const AdamWBlock block{whole.parameter + begin, whole.gradient + begin, whole.exp_avg + begin,
                             whole.exp_avg_sq + begin, std::min(kBlockSize, whole.size - begin)};
      blocks.push_back({block, factors});
    }
  }
  at::parallel_for(0, static_cast<int64_t>(blocks.size()), 1, [&](int64_t begin, int64_t end) {
    for (auto b = static_cast<size_t>(begin); b < static_cast<size_t>(end); ++b) {
      adamw_update(blocks[b].arrays, blocks[b].factors);
    }
  });
}

void AdamW::zero_gradients() {
  for (State& state : states_) state.parameter.value.mutable_grad() = at::Tensor();
}

namespace {

TensorView float_view(const at::Tensor& tensor) {
  const auto* bytes = static_cast<const std::byte*>(tensor.const_data_ptr());
  return {"F32", tensor.sizes().vec(), {bytes, static_cast<size_t>(tensor.nbytes())}};
}

void copy_checked(const SafetensorsReader& reader, const std::string& name, const char* dtype,
                  const std::vector<int64_t>& shape, void* out) {
  const TensorView& view = reader.tensor(name);
  RETRO_CHECK(view.dtype == dtype && view.shape == shape,
              "{}: {} has another type or shape than the model's parameter", reader.path().string(),
              name);
  std::memcpy(out, view.bytes.data(), view.bytes.size());
}

}  // namespace

void AdamW::save(const std::filesystem::path& path) const {
  std::map<std::string, TensorView> tensors;
  for (const State& state : states_) {
    const std::string& name = state.parameter.name;
    tensors[name + ".exp_avg"] = float_view(state.exp_avg);
    tensors[name + ".exp_avg_sq"] = float_view(state.exp_avg_sq);
    tensors[name + ".num_steps"] = {"I64", {1}, std::as_bytes(std::span(&state.num_steps, 1))};
  }
  write_safetensors(path, tensors);
}

void AdamW::load(const std::filesystem::path& path) {
  const SafetensorsReader reader(path);
  for (State& state : states_) {
    const std::string& name = state.parameter.name;
    const auto shape = state.exp_avg.sizes().vec();
    copy_checked(reader, name + ".exp_avg", "F32", shape, state.exp_avg.data_ptr());
    copy_checked(reader, name + ".exp_avg_sq", "F32", shape, state.exp_avg_sq.data_ptr());
    copy_checked(reader, name + ".num_steps", "I64", {1}, &state.num_steps);
  }
  RETRO_CHECK(reader.tensors().size() == 3 * states_.size(),
              "{}: holds the state of {} tensors, the model trains {} parameters", path.string(),
              reader.tensors().size() / 3, states_.size());
}

}  // namespace retro
