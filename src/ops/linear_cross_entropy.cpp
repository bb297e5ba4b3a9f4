#include "retro/ops/linear_cross_entropy.h"

#include <optional>
#include <utility>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include "retro/core/error.h"

#include "cuda/linear_cross_entropy.h"
#include "linear_cross_entropy_cpu.h"
#include "shape_check.h"
#include "tensor_data.h"

namespace retro {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::Variable;
using torch::autograd::variable_list;

/// The tokens that count, one after the other.
struct CompactTokens {
  at::Tensor index_S;
  at::Tensor hidden_SD;
  at::Tensor target_S;
  at::Tensor weight_S;
};

CompactTokens compact(const at::Tensor& hidden_TD, const at::Tensor& target_T,
                      const at::Tensor& token_weight_T) {
  const at::Tensor index = token_weight_T.ne(0).nonzero().squeeze(1);
  if (index.size(0) == hidden_TD.size(0)) {
    return {index, hidden_TD.contiguous(), target_T.contiguous(), token_weight_T.contiguous()};
  }
  return {index, hidden_TD.index_select(0, index), target_T.index_select(0, index),
          token_weight_T.index_select(0, index)};
}

/// Undefined gradients are not formed.
struct LossAndGradients {
  at::Tensor losses_S;
  at::Tensor grad_SD;
  at::Tensor grad_VD;
};

template <typename T>
void run_cpu(const CompactTokens& tokens, const at::Tensor& weight_VD, Precision precision,
             const LossAndGradients& result) {
  cross_entropy_cpu<T>({.tokens = tokens.index_S.size(0),
                        .width = weight_VD.size(1),
                        .vocabulary = weight_VD.size(0),
                        .hidden = tokens.hidden_SD.const_data_ptr<T>(),
                        .weight = weight_VD.const_data_ptr<T>(),
                        .weight_stride = weight_VD.stride(0),
                        .target = tokens.target_S.const_data_ptr<int64_t>(),
                        .token_weight = result.grad_SD.defined() || result.grad_VD.defined()
                                            ? tokens.weight_S.const_data_ptr<T>()
                                            : nullptr,
                        .losses = result.losses_S.mutable_data_ptr<T>(),
                        .grad_hidden = data_or_null<T>(result.grad_SD),
                        .grad_weight = data_or_null<T>(result.grad_VD)},
                       precision);
}

void run(const CompactTokens& tokens, const at::Tensor& weight_any, Precision precision,
         const LossAndGradients& result) {
  const at::Tensor weight_VD =
      weight_any.size(1) > 1 && weight_any.stride(1) != 1 ? weight_any.contiguous() : weight_any;
  if (weight_VD.scalar_type() == at::kDouble) {
    run_cpu<double>(tokens, weight_VD, precision, result);
  } else {
    run_cpu<float>(tokens, weight_VD, precision, result);
  }
}

struct Needs {
  bool hidden;
  bool weight;
};

class LinearCrossEntropyFunction : public Function<LinearCrossEntropyFunction> {
 public:
  static Variable forward(AutogradContext* context, const Variable& hidden_TD,
                          const Variable& weight_VD, const at::Tensor& target_T,
                          const at::Tensor& token_weight_T, Precision precision, Needs needs) {
    if (!hidden_TD.is_cpu()) {
      return forward_on_device(context, hidden_TD, weight_VD, target_T, token_weight_T, precision,
                               needs);
    }
    const CompactTokens tokens = compact(hidden_TD, target_T, token_weight_T);
    const int64_t count = tokens.index_S.size(0);
    const auto options = hidden_TD.options();
    LossAndGradients result{at::empty({count}, options), {}, {}};
    if (needs.hidden) result.grad_SD = at::empty({count, hidden_TD.size(1)}, options);
    if (needs.weight) result.grad_VD = at::zeros(weight_VD.sizes(), options);
    run(tokens, weight_VD, precision, result);
    if (needs.hidden && count != hidden_TD.size(0)) {
      result.grad_SD =
          at::zeros(hidden_TD.sizes(), options).index_copy_(0, tokens.index_S, result.grad_SD);
    }
    // Not as saved variables: those would keep a second reference, and autograd would copy what it
    // could take.
    keep(context, needs, result.grad_SD, result.grad_VD);
    return result.losses_S.dot(tokens.weight_S);
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    RETRO_CHECK(!context->saved_data.empty(),
                "linear_cross_entropy: its gradients left with the first backward; call it again");
    variable_list result(6);
    result[0] = take(context, "grad_hidden", grads[0]);
    result[1] = take(context, "grad_weight", grads[0]);
    return result;
  }

 private:
  /// Tokens of weight 0 stay where they are: counting the others would mean to wait for the device.
  static Variable forward_on_device(AutogradContext* context, const at::Tensor& hidden_TD,
                                    const at::Tensor& weight_VD, const at::Tensor& target_T,
                                    const at::Tensor& token_weight_T, Precision precision,
                                    Needs needs) {
    const bool has_gradients = needs.hidden || needs.weight;
    const cuda::LossesAndGradients result =
        cuda::linear_cross_entropy({.hidden_TD = hidden_TD,
                                    .weight_VD = weight_VD,
                                    .target_T = target_T,
                                    .token_weight_T = has_gradients ? token_weight_T : at::Tensor(),
                                    .precision = precision,
                                    .needs_weight_gradient = needs.weight});
    keep(context, needs, result.grad_TD, result.grad_VD);
    return (result.losses_T * token_weight_T).masked_fill(token_weight_T.eq(0), 0).sum();
  }

  static void keep(AutogradContext* context, Needs needs, const at::Tensor& grad_hidden,
                   const at::Tensor& grad_weight) {
    if (needs.hidden) context->saved_data["grad_hidden"] = grad_hidden;
    if (needs.weight) context->saved_data["grad_weight"] = grad_weight;
  }

  /// A gradient out of the context, times the upstream one.
  static at::Tensor take(AutogradContext* context, const char* name, const at::Tensor& upstream) {
    const auto kept = context->saved_data.find(name);
    if (kept == context->saved_data.end()) return {};
    at::Tensor gradient = kept->second.toTensor();
    context->saved_data.erase(kept);
    const bool is_unchanged = upstream.is_cpu() && upstream.item<double>() == 1.0;
    return is_unchanged ? gradient : gradient.mul_(upstream);
  }
};

void check_cross_entropy_operands(const at::Tensor& hidden_TD, const at::Tensor& weight_VD,
                                  const at::Tensor& target_T) {
  check_shape(hidden_TD, "hidden_TD", {kAnyExtent, kAnyExtent});
  check_real(hidden_TD, "hidden_TD");
  check_shape(weight_VD, "weight_VD", {kAnyExtent, hidden_TD.size(1)});
  check_parameter(weight_VD, "weight_VD", hidden_TD);
  check_device("linear_cross_entropy", hidden_TD);
  check_shape(target_T, "target_T", {hidden_TD.size(0)});
  check_type(target_T, "target_T", at::kLong);
  check_device_like(target_T, "target_T", hidden_TD);
  RETRO_CHECK(weight_VD.size(0) > 0 && weight_VD.size(1) > 0,
              "weight_VD: expected a vocabulary and a width above 0, got shape {}",
              shape_of(weight_VD));
}

/// On the CPU; elsewhere the answer would have to be waited for.
void check_targets(const at::Tensor& target_T, const at::Tensor& counts_T, int64_t vocabulary) {
  if (!target_T.is_cpu()) return;
  const at::Tensor bad = (target_T.lt(0).logical_or(target_T.ge(vocabulary))).logical_and(counts_T);
  RETRO_CHECK(!bad.any().item<bool>(), "target_T: a token id is not in 0..{}", vocabulary - 1);
}

}  // namespace

at::Tensor linear_cross_entropy(const at::Tensor& hidden_TD, const at::Tensor& weight_VD,
                                const at::Tensor& target_T, const at::Tensor& token_weight_T,
                                Precision precision) {
  check_cross_entropy_operands(hidden_TD, weight_VD, target_T);
  check_shape(token_weight_T, "token_weight_T", {hidden_TD.size(0)});
  check_parameter(token_weight_T, "token_weight_T", hidden_TD);
  check_targets(target_T, token_weight_T.ne(0), weight_VD.size(0));
  const bool grad = at::GradMode::is_enabled();
  const Needs needs{grad && hidden_TD.requires_grad(), grad && weight_VD.requires_grad()};
  return LinearCrossEntropyFunction::apply(hidden_TD, weight_VD, target_T, token_weight_T.detach(),
                                           precision, needs);
}

at::Tensor token_losses(const at::Tensor& hidden_TD, const at::Tensor& weight_VD,
                        const at::Tensor& target_T, const at::Tensor& mask_T, Precision precision) {
  const at::NoGradGuard no_grad;
  check_cross_entropy_operands(hidden_TD, weight_VD, target_T);
  check_shape(mask_T, "mask_T", {hidden_TD.size(0)});
  check_type(mask_T, "mask_T", at::kBool);
  check_device_like(mask_T, "mask_T", hidden_TD);
  check_targets(target_T, mask_T, weight_VD.size(0));
  if (!hidden_TD.is_cpu()) {
    return cuda::linear_cross_entropy({.hidden_TD = hidden_TD,
                                       .weight_VD = weight_VD,
                                       .target_T = target_T,
                                       .token_weight_T = {},
                                       .precision = precision})
        .losses_T.masked_fill(mask_T.logical_not(), 0);
  }
  const CompactTokens tokens = compact(hidden_TD, target_T, mask_T);
  const LossAndGradients result{at::empty({tokens.index_S.size(0)}, hidden_TD.options()), {}, {}};
  run(tokens, weight_VD, precision, result);
  return at::zeros({hidden_TD.size(0)}, at::kFloat)
      .index_copy_(0, tokens.index_S, result.losses_S.to(at::kFloat));
}

}  // namespace retro
