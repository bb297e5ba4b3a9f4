// The CPU operations on the problems and against the oracle of the kernels' parity tests.
#include "kernels/attention_parity.h"

#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "retro/ops/chunked_cross_attention.h"
#include "retro/ops/relative_attention.h"

#include "kernels/attention_cases.h"

namespace retro::testing {
namespace {

/// A tensor of the case's values whose rows of heads lie `padding` elements apart.
at::Tensor leaf(const Values& values, std::vector<int64_t> shape, int64_t padding) {
  const at::Tensor flat = at::tensor(values, at::kDouble).to(at::kFloat).view(shape);
  if (padding == 0) return flat.requires_grad_(true);
  const int64_t rows = flat.numel() / (shape[shape.size() - 2] * shape.back());
  const int64_t width = shape[shape.size() - 2] * shape.back();
  at::Tensor storage = at::full({rows, width + padding}, std::nan(""), at::kFloat);
  storage.narrow(1, 0, width).copy_(flat.reshape({rows, width}));
  std::vector<int64_t> strides = flat.strides().vec();
  for (size_t i = 0; i + 2 < strides.size(); ++i)
    strides[i] = strides[i] / width * (width + padding);
  return storage.as_strided(shape, strides).requires_grad_(true);
}

at::Tensor mask(const std::vector<char>& values, std::vector<int64_t> shape) {
  if (values.empty()) return {};
  const std::vector<int64_t> wide(values.begin(), values.end());
  return at::tensor(wide).ne(0).view(shape);
}

Values values_of(const at::Tensor& tensor) {
  if (!tensor.defined()) return {};
  const at::Tensor dense = tensor.to(at::kDouble).contiguous();
  return {dense.const_data_ptr<double>(), dense.const_data_ptr<double>() + dense.numel()};
}

AttentionOutputs run_on_cpu(const AttentionCase& c) {
  const bool is_chunked = c.chunk_length > 0;
  std::vector<int64_t> key_shape{c.batch, c.keys, c.key_heads, c.width};
  if (is_chunked) key_shape.insert(key_shape.begin() + 1, c.chunks());
  const at::Tensor query = leaf(c.query, {c.batch, c.length, c.heads, c.width}, c.stride_padding);
  const at::Tensor key = leaf(c.key, key_shape, c.stride_padding);
  const at::Tensor value = leaf(c.value, key_shape, c.stride_padding);
  at::Tensor relative;
  if (c.has_positions) relative = leaf(c.relative, {c.distances(), c.heads, c.width}, 0);
  const at::Tensor content = leaf(c.content_bias, {c.heads, c.width}, 0);
  at::Tensor position;
  if (c.has_positions) position = leaf(c.position_bias, {c.heads, c.width}, 0);
  at::Tensor out;
  if (is_chunked) {
    out = chunked_cross_attention({query, key, value, relative, content, position,
                                   mask(c.key_is_real, {c.batch, c.chunks(), c.keys}),
                                   mask(c.row_is_active, {c.batch, c.length})},
                                  c.chunk_length, c.key_period, c.first_distance());
  } else {
    AttentionOperands operands{query, key, value, relative, content, position, {}, {}, {}};
    operands.key_is_real_BT = mask(c.key_is_real, {c.batch, c.keys});
    if (c.has_segments) {
      operands.query_segment_BN = at::tensor(c.query_segment).view({c.batch, c.length});
      operands.key_segment_BT = at::tensor(c.key_segment).view({c.batch, c.keys});
    }
    out = relative_attention(operands, {.is_causal = c.is_causal,
                                        .causal_offset = c.causal_offset,
                                        .distance_offset = c.distance_offset,
                                        .key_period = c.key_period,
                                        .first_distance = c.first_distance()});
  }
  if (out.requires_grad()) {
    out.backward(at::tensor(c.grad_out, at::kDouble).to(at::kFloat).view(out.sizes()));
  }
  const auto gradient = [](const at::Tensor& tensor) {
    if (!tensor.defined()) return Values{};
    return values_of(tensor.grad().defined() ? tensor.grad() : at::zeros_like(tensor));
  };
  AttentionOutputs result{values_of(out.detach()), gradient(query),    gradient(key),
                          gradient(value),         gradient(relative), gradient(content),
                          gradient(position)};
  if (!c.has_positions) result.grad_position_bias.assign(c.position_bias.size(), 0.0);
  return result;
}

TEST(AttentionParity, CpuOperationsMeetTheOracleOfTheKernels) {
  for (const auto& cases : {self_attention_cases(), head_width_cases(), encoder_cases(),
                            mask_cases(), chunk_length_cases(), retrieved_length_cases(),
                            neighbour_cases(), missing_neighbour_cases()}) {
    for (const AttentionCase& problem : cases) {
      expect_attention_parity<float>(problem, {"the CPU", run_on_cpu});
    }
  }
}

}  // namespace
}  // namespace retro::testing
