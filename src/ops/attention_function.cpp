#include "attention_function.h"

#include <optional>

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include "retro/core/error.h"

#include "attention_cpu.h"
#include "cuda/attention.h"
#include "shape_check.h"

namespace retro {

namespace {

using cuda::AttentionForward;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::Variable;
using torch::autograd::variable_list;

at::Tensor with_contiguous_rows(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.size(-1) <= 1 || tensor.stride(-1) == 1) return tensor;
  return tensor.contiguous();
}

/// Pointers and strides of the operands for one element type.
template <typename T>
class ProblemBuilder {
 public:
  ProblemBuilder(const AttentionTensors& tensors, const AttentionArrangement& arrangement)
      : arrangement_(arrangement) {
    set_extents(tensors);
    problem.query = rows(tensors.query);
    problem.key = keys<const T>(tensors.key);
    problem.value = keys<const T>(tensors.value);
    problem.relative = shared(tensors.relative);
    problem.content_bias = bias(tensors.content_bias);
    problem.position_bias = bias(tensors.position_bias);
    problem.key_is_real = key_flags(tensors.key_is_real);
    problem.row_is_active = row_values<const bool>(tensors.row_is_active);
    problem.query_segment = row_values<const int64_t>(tensors.query_segment);
    if (tensors.key_segment.defined()) {
      problem.key_segment = {.data = tensors.key_segment.const_data_ptr<int64_t>(),
                             .batch_stride = tensors.key_segment.stride(0),
                             .row_stride = tensors.key_segment.stride(1)};
    }
  }

  /// A [B, N, H, A] tensor by item and row.
  template <typename U>
  cpu::AttentionView<U> row_view(U* data, const at::Tensor& like) const {
    return {.data = data == nullptr ? nullptr : data + first_row() * like.stride(1),
            .batch_stride = like.stride(0),
            .chunk_stride = arrangement_.chunk_length * like.stride(1),
            .row_stride = like.stride(1),
            .head_stride = like.stride(2)};
  }

  cpu::AttentionView<const T> rows(const at::Tensor& tensor) const {
    return row_view(tensor.const_data_ptr<T>(), tensor);
  }
  cpu::AttentionView<T> mutable_rows(const at::Tensor& tensor) const {
    return row_view(tensor.mutable_data_ptr<T>(), tensor);
  }
  cpu::AttentionView<T> mutable_keys(const at::Tensor& tensor) const {
    return key_view(tensor.mutable_data_ptr<T>(), tensor);
  }

  cpu::AttentionProblem<T> problem;

 private:
  bool is_chunked() const { return arrangement_.chunk_length > 0; }
  int64_t first_row() const { return is_chunked() ? arrangement_.chunk_length - 1 : 0; }

  void set_extents(const AttentionTensors& tensors) {
    const AttentionGeometry& geometry = arrangement_.geometry;
    const int64_t length = tensors.query.size(1);
    problem.batches = tensors.query.size(0);
    problem.heads = tensors.query.size(2);
    problem.width = tensors.query.size(3);
    problem.chunks = is_chunked() ? tensors.key.size(1) : 1;
    problem.rows = is_chunked() ? arrangement_.chunk_length : length;
    problem.last_rows = is_chunked() ? length - problem.chunks * problem.rows + 1 : length;
    problem.keys = tensors.key.size(-3);
    problem.key_heads = tensors.key.size(-2);
    problem.distances = tensors.relative.defined() ? tensors.relative.size(0) : 0;
    problem.is_causal = geometry.is_causal;
    problem.causal_offset = geometry.causal_offset;
    problem.distance_offset = geometry.distance_offset;
    problem.key_period = geometry.key_period;
    problem.first_distance = geometry.first_distance;
  }

  template <typename U>
  cpu::AttentionView<U> key_view(U* data, const at::Tensor& like) const {
    return {.data = data,
            .batch_stride = like.stride(0),
            .chunk_stride = is_chunked() ? like.stride(1) : 0,
            .row_stride = like.stride(-3),
            .head_stride = like.stride(-2)};
  }
  template <typename U>
  cpu::AttentionView<U> keys(const at::Tensor& tensor) const {
    return key_view(tensor.const_data_ptr<T>(), tensor);
  }

  static cpu::AttentionView<const T> shared(const at::Tensor& tensor) {
    if (!tensor.defined()) return {};
    return {.data = tensor.const_data_ptr<T>(),
            .row_stride = tensor.stride(0),
            .head_stride = tensor.stride(1)};
  }
  static cpu::AttentionView<const T> bias(const at::Tensor& tensor) {
    if (!tensor.defined()) return {};
    return {.data = tensor.const_data_ptr<T>(), .head_stride = tensor.stride(0)};
  }

  cpu::AttentionView<const bool> key_flags(const at::Tensor& tensor) const {
    if (!tensor.defined()) return {};
    return {.data = tensor.const_data_ptr<bool>(),
            .batch_stride = tensor.stride(0),
            .chunk_stride = is_chunked() ? tensor.stride(1) : 0,
            .row_stride = tensor.stride(-1)};
  }

  template <typename U>
  cpu::AttentionView<U> row_values(const at::Tensor& tensor) const {
    if (!tensor.defined()) return {};
    return {
        .data = tensor.const_data_ptr<std::remove_const_t<U>>() + first_row() * tensor.stride(1),
        .batch_stride = tensor.stride(0),
        .chunk_stride = arrangement_.chunk_length * tensor.stride(1),
        .row_stride = tensor.stride(1)};
  }

  AttentionArrangement arrangement_;
};

/// lse [B, H, N] seen as rows of heads.
at::Tensor lse_as_rows(const at::Tensor& lse_BHN) { return lse_BHN.transpose(1, 2); }

template <typename T>
void run_forward(const AttentionTensors& tensors, const AttentionArrangement& arrangement,
                 const at::Tensor& out, const at::Tensor& lse_BHN) {
  const ProblemBuilder<T> builder(tensors, arrangement);
  attention_forward_cpu<T>(builder.problem, {.out = builder.mutable_rows(out),
                                             .lse = builder.mutable_rows(lse_as_rows(lse_BHN))});
}

template <typename T>
AttentionGradientTensors run_backward(const AttentionTensors& tensors,
                                      const AttentionArrangement& arrangement,
                                      const at::Tensor& out, const at::Tensor& lse_BHN,
                                      const at::Tensor& grad_out) {
  const ProblemBuilder<T> builder(tensors, arrangement);
  const auto options = out.options();
  AttentionGradientTensors result;
  result.query = arrangement.chunk_length > 0 ? at::zeros(tensors.query.sizes(), options)
                                              : at::empty(tensors.query.sizes(), options);
  result.key = at::empty(tensors.key.sizes(), options);
  result.value = at::empty(tensors.value.sizes(), options);
  result.shared =
      attention_backward_cpu<T>(builder.problem, {.out = builder.rows(out),
                                                  .lse = builder.rows(lse_as_rows(lse_BHN)),
                                                  .grad_out = builder.rows(grad_out),
                                                  .query = builder.mutable_rows(result.query),
                                                  .key = builder.mutable_keys(result.key),
                                                  .value = builder.mutable_keys(result.value)});
  return result;
}

AttentionForward forward_cpu(const AttentionTensors& tensors,
                             const AttentionArrangement& arrangement) {
  const at::Tensor& query = tensors.query;
  const at::Tensor out = arrangement.chunk_length > 0 ? at::zeros(query.sizes(), query.options())
                                                      : at::empty(query.sizes(), query.options());
  const at::Tensor lse_BHN =
      at::empty({query.size(0), query.size(2), query.size(1)}, query.options());
  if (query.scalar_type() == at::kDouble) {
    run_forward<double>(tensors, arrangement, out, lse_BHN);
  } else {
    run_forward<float>(tensors, arrangement, out, lse_BHN);
  }
  return {out, lse_BHN};
}

AttentionGradientTensors attention_backward(const AttentionTensors& tensors,
                                            const AttentionArrangement& arrangement,
                                            const AttentionForward& forward,
                                            const at::Tensor& grad) {
  if (!tensors.query.is_cpu()) return cuda::attention_backward(tensors, arrangement, forward, grad);
  const at::Tensor grad_out = with_contiguous_rows(grad);
  return tensors.query.scalar_type() == at::kDouble
             ? run_backward<double>(tensors, arrangement, forward.out, forward.lse, grad_out)
             : run_backward<float>(tensors, arrangement, forward.out, forward.lse, grad_out);
}

AttentionTensors from_list(const variable_list& list) {
  return {list[0], list[1], list[2], list[3], list[4], list[5], list[6], list[7], list[8], list[9]};
}

class AttentionFunction : public Function<AttentionFunction> {
 public:
  using MaybeTensor = std::optional<at::Tensor>;

  static Variable forward(AutogradContext* context, const Variable& query, const Variable& key,
                          const Variable& value, const MaybeTensor& relative,
                          const MaybeTensor& content_bias, const MaybeTensor& position_bias,
                          const AttentionTensors* others, AttentionArrangement arrangement) {
    AttentionTensors tensors = *others;
    tensors.query = query;
    tensors.key = key;
    tensors.value = value;
    tensors.relative = relative.value_or(at::Tensor());
    tensors.content_bias = content_bias.value_or(at::Tensor());
    tensors.position_bias = position_bias.value_or(at::Tensor());
    const AttentionForward result = query.is_cpu() ? forward_cpu(tensors, arrangement)
                                                   : cuda::attention_forward(tensors, arrangement);
    context->save_for_backward({query, key, value, tensors.relative, tensors.content_bias,
                                tensors.position_bias, tensors.key_is_real, tensors.row_is_active,
                                tensors.query_segment, tensors.key_segment, result.out,
                                result.lse});
    const AttentionGeometry& geometry = arrangement.geometry;
    context->saved_data["arrangement"] = std::vector<int64_t>{
        geometry.is_causal ? 1 : 0, geometry.causal_offset,  geometry.distance_offset,
        geometry.key_period,        geometry.first_distance, arrangement.chunk_length};
    return result.out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const variable_list saved = context->get_saved_variables();
    const AttentionTensors tensors = from_list(saved);
    const std::vector<int64_t> kept = context->saved_data["arrangement"].toIntVector();
    const AttentionArrangement arrangement{{.is_causal = kept[0] != 0,
                                            .causal_offset = kept[1],
                                            .distance_offset = kept[2],
                                            .key_period = kept[3],
                                            .first_distance = kept[4]},
                                           kept[5]};
    const AttentionGradientTensors result =
        attention_backward(tensors, arrangement, {saved[10], saved[11]}, grads[0]);
    const auto if_present = [](const at::Tensor& operand, const at::Tensor& gradient) {
      return operand.defined() ? gradient : at::Tensor();
    };
    return {result.query,
            result.key,
            result.value,
            if_present(tensors.relative, result.shared.relative_XHA),
            if_present(tensors.content_bias, result.shared.content_bias_HA),
            if_present(tensors.position_bias, result.shared.position_bias_HA),
            at::Tensor(),
            at::Tensor()};
  }
};

}  // namespace

at::Tensor apply_attention(const AttentionTensors& tensors,
                           const AttentionArrangement& arrangement) {
  check_device("attention", tensors.query);
  const auto rows = tensors.query.is_cpu() ? &with_contiguous_rows : &cuda::with_aligned_rows;
  const auto optional = [&](const at::Tensor& tensor) {
    return tensor.defined() ? std::optional(rows(tensor)) : std::nullopt;
  };
  return AttentionFunction::apply(rows(tensors.query), rows(tensors.key), rows(tensors.value),
                                  optional(tensors.relative), optional(tensors.content_bias),
                                  optional(tensors.position_bias), &tensors, arrangement);
}

void check_position_operands(const AttentionTensors& tensors, int64_t first_distance,
                             int64_t lowest, int64_t highest) {
  const int64_t heads = tensors.query.size(2);
  const int64_t width = tensors.query.size(3);
  for (const auto& [bias, name] : {std::pair(&tensors.content_bias, "content_bias_HA"),
                                   std::pair(&tensors.position_bias, "position_bias_HA")}) {
    if (!bias->defined()) continue;
    check_shape(*bias, name, {heads, width});
    check_parameter(*bias, name, tensors.query);
  }
  if (!tensors.relative.defined()) return;
  check_shape(tensors.relative, "relative_XHA", {kAnyExtent, heads, width});
  check_like(tensors.relative, "relative_XHA", tensors.query);
  const int64_t last = first_distance + tensors.relative.size(0) - 1;
  RETRO_CHECK(lowest > highest || (first_distance <= lowest && highest <= last),
              "relative_XHA: its rows are distances {}..{}, the geometry reaches {}..{}",
              first_distance, last, lowest, highest);
}

}  // namespace retro
