#include "retro/train/optimizer.h"

#include <cmath>
#include <cstring>
#include <map>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>

#include "retro/core/error.h"
#include "retro/core/safetensors.h"
#include "retro/ops/adamw.h"

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

void check_parameter(const NamedParameter& parameter) {
  const at::Tensor& value = parameter.value;
  RETRO_CHECK(value.is_contiguous() && value.scalar_type() == at::kFloat,
              "optimizer: parameter {} must be a contiguous float32 tensor", parameter.name);
}

/// The gradient in the parameter's own layout; undefined if there is none.
at::Tensor gradient_of(const at::Tensor& parameter) {
  const at::Tensor& gradient = parameter.grad();
  return gradient.defined() ? gradient.contiguous() : at::Tensor();
}

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

std::vector<at::Tensor> AdamW::parameters() const {
  std::vector<at::Tensor> values;
  for (const State& state : states_) values.push_back(state.parameter.value);
  return values;
}

int64_t AdamW::num_elements() const {
  int64_t count = 0;
  for (const State& state : states_) count += state.parameter.value.numel();
  return count;
}

void AdamW::add_gradients(const std::vector<at::Tensor>& gradients) {
  RETRO_CHECK(gradients.size() == states_.size(), "optimizer: {} gradients for {} parameters",
              gradients.size(), states_.size());
  const at::NoGradGuard no_gradients;
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) continue;
    at::Tensor& sum = states_[i].parameter.value.mutable_grad();
    sum = sum.defined() ? sum.add_(gradients[i]) : gradients[i];
  }
}

double AdamW::gradient_norm() const {
  std::vector<at::Tensor> gradients;
  for (const State& state : states_) {
    const at::Tensor gradient = gradient_of(state.parameter.value);
    if (gradient.defined()) gradients.push_back(gradient);
  }
  return joint_norm(gradients);
}

void AdamW::step(double learning_rate, double gradient_scale) {
  std::vector<AdamWTensors> updates;
  for (State& state : states_) {
    const at::Tensor gradient = gradient_of(state.parameter.value);
    if (!gradient.defined()) continue;
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
    updates.push_back(
        {state.parameter.value.detach(), gradient, state.exp_avg, state.exp_avg_sq, factors});
  }
  adamw_update(updates);
}

void AdamW::zero_gradients() {
  for (State& state : states_) state.parameter.value.mutable_grad() = at::Tensor();
}

namespace {

/// Of a tensor in host memory.
TensorView float_view(const at::Tensor& tensor) {
  const auto* bytes = static_cast<const std::byte*>(tensor.const_data_ptr());
  return {"F32", tensor.sizes().vec(), {bytes, static_cast<size_t>(tensor.nbytes())}};
}

const TensorView& checked_view(const SafetensorsReader& reader, const std::string& name,
                               const char* dtype, const std::vector<int64_t>& shape) {
  const TensorView& view = reader.tensor(name);
  RETRO_CHECK(view.dtype == dtype && view.shape == shape,
              "{}: {} has another type or shape than the model's parameter", reader.path().string(),
              name);
  return view;
}

/// Into a tensor on any device.
void copy_checked(const SafetensorsReader& reader, const std::string& name, at::Tensor& out) {
  const TensorView& view = checked_view(reader, name, "F32", out.sizes().vec());
  const at::Tensor loaded = at::empty_like(out, at::kCPU);
  std::memcpy(loaded.mutable_data_ptr(), view.bytes.data(), view.bytes.size());
  out.copy_(loaded);
}

}  // namespace

void AdamW::save(const std::filesystem::path& path) const {
  std::map<std::string, TensorView> tensors;
  std::vector<at::Tensor> alive;
  const auto in_host_memory = [&](const at::Tensor& tensor) {
    return float_view(alive.emplace_back(tensor.to(at::kCPU)));
  };
  for (const State& state : states_) {
    const std::string& name = state.parameter.name;
    tensors[name + ".exp_avg"] = in_host_memory(state.exp_avg);
    tensors[name + ".exp_avg_sq"] = in_host_memory(state.exp_avg_sq);
    tensors[name + ".num_steps"] = {"I64", {1}, std::as_bytes(std::span(&state.num_steps, 1))};
  }
  write_safetensors(path, tensors);
}

void AdamW::load(const std::filesystem::path& path) {
  const SafetensorsReader reader(path);
  for (State& state : states_) {
    const std::string& name = state.parameter.name;
    copy_checked(reader, name + ".exp_avg", state.exp_avg);
    copy_checked(reader, name + ".exp_avg_sq", state.exp_avg_sq);
    const TensorView& steps = checked_view(reader, name + ".num_steps", "I64", {1});
    std::memcpy(&state.num_steps, steps.bytes.data(), steps.bytes.size());
  }
  RETRO_CHECK(reader.tensors().size() == 3 * states_.size(),
              "{}: holds the state of {} tensors, the model trains {} parameters", path.string(),
              reader.tensors().size() / 3, states_.size());
}

}  // namespace retro
