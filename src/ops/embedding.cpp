#include "retro/ops/embedding.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include "retro/core/error.h"

#include "cuda/embedding.h"
#include "embedding_cpu.h"
#include "shape_check.h"

namespace retro {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::Variable;
using torch::autograd::variable_list;

template <typename T>
void gather(const at::Tensor& weight_VD, const at::Tensor& ids_T, const at::Tensor& out_TD) {
  embedding_forward_cpu<T>(
      {weight_VD.size(0), weight_VD.size(1), ids_T.numel(), ids_T.const_data_ptr<int64_t>()},
      weight_VD.const_data_ptr<T>(), out_TD.mutable_data_ptr<T>());
}

template <typename T>
void scatter(const at::Tensor& grad_TD, const at::Tensor& ids_T, const at::Tensor& grad_VD) {
  embedding_backward_cpu<T>(
      {grad_VD.size(0), grad_VD.size(1), ids_T.numel(), ids_T.const_data_ptr<int64_t>()},
      grad_TD.const_data_ptr<T>(), grad_VD.mutable_data_ptr<T>());
}

class EmbeddingFunction : public Function<EmbeddingFunction> {
 public:
  static Variable forward(AutogradContext* context, const Variable& weight_VD,
                          const at::Tensor& ids_T) {
    const at::Tensor out_TD = at::empty({ids_T.numel(), weight_VD.size(1)}, weight_VD.options());
    if (!weight_VD.is_cpu()) {
      cuda::embedding_forward(weight_VD, ids_T, out_TD);
    } else if (weight_VD.scalar_type() == at::kDouble) {
      gather<double>(weight_VD, ids_T, out_TD);
    } else {
      gather<float>(weight_VD, ids_T, out_TD);
    }
    context->save_for_backward({ids_T});
    context->saved_data["vocabulary"] = weight_VD.size(0);
    return out_TD;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const at::Tensor ids_T = context->get_saved_variables()[0];
    const at::Tensor grad_TD = grads[0].contiguous();
    const at::Tensor grad_VD =
        at::zeros({context->saved_data["vocabulary"].toInt(), grad_TD.size(1)}, grad_TD.options());
    if (!grad_TD.is_cpu()) {
      cuda::embedding_backward(grad_TD, ids_T, grad_VD);
    } else if (grad_TD.scalar_type() == at::kDouble) {
      scatter<double>(grad_TD, ids_T, grad_VD);
    } else {
      scatter<float>(grad_TD, ids_T, grad_VD);
    }
    return {grad_VD, at::Tensor()};
  }
};

void check_ids(const at::Tensor& ids_T, int64_t vocabulary) {
  const int64_t* ids = ids_T.const_data_ptr<int64_t>();
  for (int64_t t = 0; t < ids_T.numel(); ++t) {
    RETRO_CHECK(ids[t] >= -1 && ids[t] < vocabulary,
                "embed_tokens: token id {} at position {} is not in -1..{}", ids[t], t,
                vocabulary - 1);
  }
}

}  // namespace

at::Tensor embed_tokens(const at::Tensor& weight_VD, const at::Tensor& ids) {
  check_shape(weight_VD, "weight_VD", {kAnyExtent, kAnyExtent});
  check_real(weight_VD, "weight_VD");
  RETRO_CHECK(ids.defined(), "embed_tokens: ids are undefined");
  check_type(ids, "ids", at::kLong);
  check_device_like(ids, "ids", weight_VD);
  check_device("embed_tokens", weight_VD);
  const at::Tensor ids_T = ids.reshape({-1}).contiguous();
  // On a GPU the check would wait for everything before it; there such an id gives zeros.
  if (ids_T.is_cpu()) check_ids(ids_T, weight_VD.size(0));
  std::vector<int64_t> shape = ids.sizes().vec();
  shape.push_back(weight_VD.size(1));
  return EmbeddingFunction::apply(weight_VD.contiguous(), ids_T).view(shape);
}

}  // namespace retro
