// AdamW over float32 parameters, one fused pass; state by name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

namespace retro {

struct NamedParameter {
  std::string name;
  at::Tensor value;  ///< float32, contiguous; all on one device
};

struct AdamWConfig {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;
};

/// METHOD section 4: every matrix decays, embeddings and `relative` included; gains, content_bias
/// and position_bias and other biases do not. By name: the first two are two-dimensional.
bool has_weight_decay(std::string_view parameter_name);

/// Loshchilov and Hutter, "Decoupled weight decay regularization" (arXiv 1711.05101), algorithm 2,
/// bias-corrected. A parameter without a gradient in a step is left alone. Results do not depend on
/// the thread count.
class AdamW {
 public:
  AdamW(std::vector<NamedParameter> parameters, const AdamWConfig& config);

  /// Of all parameters, in a fixed order.
  std::vector<at::Tensor> parameters() const;
  /// Their elements.
  int64_t num_elements() const;
  /// Adds one gradient for each of `parameters`; an undefined one is none.
  void add_gradients(const std::vector<at::Tensor>& gradients);

  /// Euclidean norm of all gradients as they stand.
  double gradient_norm() const;
  /// One update with gradients multiplied by `gradient_scale` (token weighting and clipping in the
  /// same pass).
  void step(double learning_rate, double gradient_scale);
  /// Drops the gradients.
  void zero_gradients();

  /// Safetensors with "NAME.exp_avg", "NAME.exp_avg_sq" and "NAME.num_steps" (int64, updates of
  /// that parameter).
  void save(const std::filesystem::path& path) const;
  /// Matched by name; throws Error for a missing, foreign or differently shaped tensor.
  void load(const std::filesystem::path& path);

 private:
  struct State {
    NamedParameter parameter;
    at::Tensor exp_avg;
    at::Tensor exp_avg_sq;
    int64_t num_steps = 0;
    bool is_decayed = false;
  };
  std::vector<State> states_;
  AdamWConfig config_;
};

}  // namespace retro
