#include "retro/ops/relative_attention.h"

#include <algorithm>
#include <cmath>

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>

#include "retro/core/error.h"

#include "attention_function.h"
#include "shape_check.h"

namespace retro {

namespace {

void check_keys(const AttentionTensors& tensors) {
  const int64_t batch = tensors.query.size(0);
  const int64_t heads = tensors.query.size(2);
  const int64_t width = tensors.query.size(3);
  check_shape(tensors.key, "key_BTGA", {batch, kAnyExtent, kAnyExtent, width});
  const int64_t key_heads = tensors.key.size(2);
  RETRO_CHECK(key_heads > 0 && heads % key_heads == 0,
              "key_BTGA: {} key heads do not divide {} query heads", key_heads, heads);
  check_shape(tensors.value, "value_BTGA", {batch, tensors.key.size(1), key_heads, width});
  check_like(tensors.key, "key_BTGA", tensors.query);
  check_like(tensors.value, "value_BTGA", tensors.query);
}

void check_masks(const AttentionTensors& tensors) {
  const int64_t batch = tensors.query.size(0);
  const int64_t keys = tensors.key.size(1);
  if (tensors.key_is_real.defined()) {
    check_shape(tensors.key_is_real, "key_is_real_BT", {batch, keys});
    check_type(tensors.key_is_real, "key_is_real_BT", at::kBool);
    check_device_like(tensors.key_is_real, "key_is_real_BT", tensors.query);
  }
  RETRO_CHECK(tensors.query_segment.defined() == tensors.key_segment.defined(),
              "query_segment_BN and key_segment_BT: expected both or neither");
  if (!tensors.query_segment.defined()) return;
  check_shape(tensors.query_segment, "query_segment_BN", {batch, tensors.query.size(1)});
  check_shape(tensors.key_segment, "key_segment_BT", {batch, keys});
  check_type(tensors.query_segment, "query_segment_BN", at::kLong);
  check_type(tensors.key_segment, "key_segment_BT", at::kLong);
  check_device_like(tensors.query_segment, "query_segment_BN", tensors.query);
  check_device_like(tensors.key_segment, "key_segment_BT", tensors.query);
}

void check_distances(const AttentionTensors& tensors, const AttentionGeometry& geometry) {
  const int64_t rows = tensors.query.size(1);
  const int64_t keys = tensors.key.size(1);
  RETRO_CHECK(geometry.key_period >= 0, "key_period: expected 0 or more, got {}",
              geometry.key_period);
  const int64_t period = geometry.key_period > 0 ? std::min(geometry.key_period, keys) : keys;
  int64_t lowest = geometry.distance_offset - (period - 1);
  if (geometry.is_causal && geometry.key_period == 0) {
    lowest = std::max(lowest, geometry.distance_offset - geometry.causal_offset);
  }
  int64_t highest = geometry.distance_offset + rows - 1;
  if (tensors.query.size(0) == 0 || rows == 0 || keys == 0) highest = lowest - 1;
  check_position_operands(tensors, geometry.first_distance, lowest, highest);
}

}  // namespace

at::Tensor distance_features(int64_t first_distance, int64_t count, int64_t width,
                             at::ScalarType dtype) {
  RETRO_CHECK(width > 0 && width % 2 == 0, "distance_features: expected an even width, got {}",
              width);
  const at::Tensor distance = at::arange(first_distance, first_distance + count, at::kDouble);
  const at::Tensor index = at::arange(width / 2, at::kDouble);
  const at::Tensor angle = distance.unsqueeze(1) *
                           index.mul(-2.0 / static_cast<double>(width) * std::log(10000.0)).exp();
  return at::cat({angle.sin(), angle.cos()}, 1).to(dtype);
}

at::Tensor relative_attention(const AttentionOperands& operands,
                              const AttentionGeometry& geometry) {
  const AttentionTensors tensors{.query = operands.query_BNHA,
                                 .key = operands.key_BTGA,
                                 .value = operands.value_BTGA,
                                 .relative = operands.relative_XHA,
                                 .content_bias = operands.content_bias_HA,
                                 .position_bias = operands.position_bias_HA,
                                 .key_is_real = operands.key_is_real_BT,
                                 .row_is_active = {},
                                 .query_segment = operands.query_segment_BN,
                                 .key_segment = operands.key_segment_BT};
  check_shape(tensors.query, "query_BNHA", {kAnyExtent, kAnyExtent, kAnyExtent, kAnyExtent});
  check_device("attention", tensors.query);
  check_real(tensors.query, "query_BNHA");
  RETRO_CHECK(tensors.query.size(3) > 0, "query_BNHA: expected a head width above 0, got shape {}",
              shape_of(tensors.query));
  check_keys(tensors);
  check_masks(tensors);
  check_distances(tensors, geometry);
  return apply_attention(tensors, {.geometry = geometry});
}

}  // namespace retro
