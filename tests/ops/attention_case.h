// Random operands of relative attention, and what the definition says their result is.
#pragma once

#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>

#include "retro/ops/relative_attention.h"

#include "oracle.h"

namespace retro::testing {

struct AttentionShape {
  int64_t batch = 2;
  int64_t rows = 5;
  int64_t keys = 7;
  int64_t heads = 2;
  int64_t key_heads = 2;
  int64_t width = 8;
};

/// Operands in float64 with every distance the geometry can reach and both biases.
inline AttentionOperands random_operands(const AttentionShape& shape,
                                         const AttentionGeometry& geometry) {
  const int64_t last = geometry.distance_offset + shape.rows - 1;
  const auto options = at::TensorOptions().dtype(at::kDouble);
  AttentionOperands operands;
  operands.query_BNHA = at::randn({shape.batch, shape.rows, shape.heads, shape.width}, options);
  operands.key_BTGA = at::randn({shape.batch, shape.keys, shape.key_heads, shape.width}, options);
  operands.value_BTGA = at::randn({shape.batch, shape.keys, shape.key_heads, shape.width}, options);
  operands.relative_XHA =
      at::randn({last - geometry.first_distance + 1, shape.heads, shape.width}, options);
  operands.content_bias_HA = at::randn({shape.heads, shape.width}, options);
  operands.position_bias_HA = at::randn({shape.heads, shape.width}, options);
  return operands;
}

inline bool pair_is_visible(const AttentionOperands& operands, const AttentionGeometry& geometry,
                            int64_t b, int64_t i, int64_t j) {
  if (geometry.is_causal && j > i + geometry.causal_offset) return false;
  if (operands.key_is_real_BT.defined() && !operands.key_is_real_BT[b][j].item<bool>())
    return false;
  if (!operands.query_segment_BN.defined()) return true;
  return operands.query_segment_BN[b][i].item<int64_t>() ==
         operands.key_segment_BT[b][j].item<int64_t>();
}

/// The definition, [B, N, H, A] in float64.
inline at::Tensor expected_attention(const AttentionOperands& operands,
                                     const AttentionGeometry& geometry) {
  const at::Tensor& query = operands.query_BNHA;
  at::Tensor out = at::zeros(query.sizes(), at::kDouble);
  const int64_t group = query.size(2) / operands.key_BTGA.size(2);
  const int64_t period = geometry.key_period > 0 ? geometry.key_period : operands.key_BTGA.size(1);
  for (int64_t b = 0; b < query.size(0); ++b) {
    std::vector<std::vector<bool>> visible(static_cast<size_t>(query.size(1)));
    for (int64_t i = 0; i < query.size(1); ++i) {
      for (int64_t j = 0; j < operands.key_BTGA.size(1); ++j) {
        visible[static_cast<size_t>(i)].push_back(pair_is_visible(operands, geometry, b, i, j));
      }
    }
    for (int64_t h = 0; h < query.size(2); ++h) {
      const oracle::Head head{oracle::to_matrix(query[b].select(1, h)),
                              oracle::to_matrix(operands.key_BTGA[b].select(1, h / group)),
                              oracle::to_matrix(operands.value_BTGA[b].select(1, h / group)),
                              oracle::relative_or_empty(operands.relative_XHA, h),
                              oracle::bias_or_zero(operands.content_bias_HA, h, query.size(3)),
                              oracle::bias_or_zero(operands.position_bias_HA, h, query.size(3))};
      const oracle::Matrix result = oracle::attend(
          head,
          [&](int64_t i, int64_t j) {
            return visible[static_cast<size_t>(i)][static_cast<size_t>(j)];
          },
          [&](int64_t i, int64_t j) {
            return i - j % period + geometry.distance_offset - geometry.first_distance;
          });
      out[b].select(1, h).copy_(oracle::to_tensor(result));
    }
  }
  return out;
}

/// The same operands in another type.
inline AttentionOperands converted(AttentionOperands operands, at::ScalarType type) {
  for (at::Tensor* tensor :
       {&operands.query_BNHA, &operands.key_BTGA, &operands.value_BTGA, &operands.relative_XHA,
        &operands.content_bias_HA, &operands.position_bias_HA}) {
    if (tensor->defined()) *tensor = tensor->to(type);
  }
  return operands;
}

}  // namespace retro::testing
