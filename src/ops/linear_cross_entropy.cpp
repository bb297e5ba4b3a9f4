#include "retro/ops/linear_cross_entropy.h"

#include <algorithm>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include "retro/core/error.h"

#include "matrix_product.h"
#include "shape_check.h"

namespace retro {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::Variable;
using torch::autograd::variable_list;

/// Tokens of one tile: about 4 M logits (16 MB), between 32 and 512 tokens.
int64_t tile_tokens(int64_t vocabulary) {
  return std::clamp<int64_t>((int64_t{1} << 22) / std::max<int64_t>(vocabulary, 1), 32, 512);
}

struct Needs {
  bool hidden;
  bool weight;
};

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
  if (index.size(0) == hidden_TD.size(0)) return {index, hidden_TD, target_T, token_weight_T};
  return {index, hidden_TD.index_select(0, index), target_T.index_select(0, index),
          token_weight_T.index_select(0, index)};
}

class LinearCrossEntropyFunction : public Function<LinearCrossEntropyFunction> {
 public:
  static Variable forward(AutogradContext* context, const Variable& hidden_TD,
                          const Variable& weight_VD, const at::Tensor& target_T,
                          const at::Tensor& token_weight_T, Precision precision, Needs needs) {
    const CompactTokens tokens = compact(hidden_TD, target_T, token_weight_T);
    const int64_t count = tokens.index_S.size(0);
    at::Tensor loss = at::zeros({}, hidden_TD.options());
    at::Tensor grad_SD =
        needs.hidden ? at::empty({count, hidden_TD.size(1)}, hidden_TD.options()) : at::Tensor();
    at::Tensor grad_VD = needs.weight ? at::zeros_like(weight_VD) : at::Tensor();
    const int64_t tile = tile_tokens(weight_VD.size(0));
    for (int64_t begin = 0; begin < count; begin += tile) {
      const int64_t size = std::min(tile, count - begin);
      const at::Tensor hidden = tokens.hidden_SD.narrow(0, begin, size);
      const at::Tensor target = tokens.target_S.narrow(0, begin, size).unsqueeze(1);
      const at::Tensor token_weight = tokens.weight_S.narrow(0, begin, size);
      at::Tensor logits = matrix_product(hidden, weight_VD.t(), precision);
      const at::Tensor lse = at::logsumexp(logits, 1);
      loss += (token_weight * (lse - logits.gather(1, target).squeeze(1))).sum();
      if (!needs.hidden && !needs.weight) continue;
      logits.sub_(lse.unsqueeze(1)).exp_();
      logits.scatter_add_(1, target, at::full({size, 1}, -1.0, logits.options()));
      logits.mul_(token_weight.unsqueeze(1));
      if (needs.hidden)
        grad_SD.narrow(0, begin, size).copy_(matrix_product(logits, weight_VD, precision));
      if (needs.weight) add_matrix_product(grad_VD, logits.t(), hidden, precision);
    }
    at::Tensor grad_TD = grad_SD;
    if (needs.hidden && count != hidden_TD.size(0)) {
      grad_TD = at::zeros_like(hidden_TD).index_copy_(0, tokens.index_S, grad_SD);
    }
    context->save_for_backward({grad_TD, grad_VD});
    return loss;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const variable_list saved = context->get_saved_variables();
    variable_list result(6);
    for (size_t i = 0; i < 2; ++i) {
      if (saved[i].defined()) result[i] = saved[i] * grads[0];
    }
    return result;
  }
};

void check_operands(const at::Tensor& hidden_TD, const at::Tensor& weight_VD,
                    const at::Tensor& target_T) {
  check_shape(hidden_TD, "hidden_TD", {kAnyExtent, kAnyExtent});
  check_real(hidden_TD, "hidden_TD");
  check_shape(weight_VD, "weight_VD", {kAnyExtent, hidden_TD.size(1)});
  check_like(weight_VD, "weight_VD", hidden_TD);
  check_shape(target_T, "target_T", {hidden_TD.size(0)});
  check_type(target_T, "target_T", at::kLong);
  if (!hidden_TD.is_cpu()) throw_unsupported_device("linear_cross_entropy", hidden_TD);
}

void check_targets(const at::Tensor& target_T, const at::Tensor& counts_T, int64_t vocabulary) {
  const at::Tensor bad = (target_T.lt(0).logical_or(target_T.ge(vocabulary))).logical_and(counts_T);
  RETRO_CHECK(!bad.any().item<bool>(), "target_T: a token id is not in 0..{}", vocabulary - 1);
}

}  // namespace

at::Tensor linear_cross_entropy(const at::Tensor& hidden_TD, const at::Tensor& weight_VD,
                                const at::Tensor& target_T, const at::Tensor& token_weight_T,
                                Precision precision) {
  check_operands(hidden_TD, weight_VD, target_T);
  check_shape(token_weight_T, "token_weight_T", {hidden_TD.size(0)});
  check_like(token_weight_T, "token_weight_T", hidden_TD);
  check_targets(target_T, token_weight_T.ne(0), weight_VD.size(0));
  const bool grad = at::GradMode::is_enabled();
  const Needs needs{grad && hidden_TD.requires_grad(), grad && weight_VD.requires_grad()};
  return LinearCrossEntropyFunction::apply(hidden_TD, weight_VD, target_T, token_weight_T.detach(),
                                           precision, needs);
}

at::Tensor token_losses(const at::Tensor& hidden_TD, const at::Tensor& weight_VD,
                        const at::Tensor& target_T, const at::Tensor& mask_T, Precision precision) {
  const at::NoGradGuard no_grad;
  check_operands(hidden_TD, weight_VD, target_T);
  check_shape(mask_T, "mask_T", {hidden_TD.size(0)});
  check_type(mask_T, "mask_T", at::kBool);
  check_targets(target_T, mask_T, weight_VD.size(0));
  const CompactTokens tokens = compact(hidden_TD, target_T, mask_T);
  const at::Tensor losses = at::zeros({hidden_TD.size(0)}, hidden_TD.options());
  const int64_t tile = tile_tokens(weight_VD.size(0));
  for (int64_t begin = 0; begin < tokens.index_S.size(0); begin += tile) {
    const int64_t size = std::min(tile, tokens.index_S.size(0) - begin);
    const at::Tensor target = tokens.target_S.narrow(0, begin, size).unsqueeze(1);
    const at::Tensor logits =
        matrix_product(tokens.hidden_SD.narrow(0, begin, size), weight_VD.t(), precision);
    losses.index_copy_(0, tokens.index_S.narrow(0, begin, size),
                       at::logsumexp(logits, 1) - logits.gather(1, target).squeeze(1));
  }
  return losses.to(at::kFloat);
}

}  // namespace retro
