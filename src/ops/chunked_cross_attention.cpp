#include "retro/ops/chunked_cross_attention.h"

#include <ATen/ops/zeros_like.h>

#include "retro/core/error.h"

#include "attention_function.h"
#include "shape_check.h"

namespace retro {

namespace {

void check_attention_operands(const AttentionTensors& tensors, int64_t chunk_length,
                              int64_t retrieved_length) {
  RETRO_CHECK(chunk_length > 0 && retrieved_length > 0,
              "chunked_cross_attention: expected positive lengths, got chunk_length {} and "
              "retrieved_length {}",
              chunk_length, retrieved_length);
  check_shape(tensors.query, "query_BNHA", {kAnyExtent, kAnyExtent, kAnyExtent, kAnyExtent});
  check_real(tensors.query, "query_BNHA");
  const int64_t batch = tensors.query.size(0);
  const int64_t length = tensors.query.size(1);
  const int64_t heads = tensors.query.size(2);
  const int64_t width = tensors.query.size(3);
  const int64_t chunks = length / chunk_length;
  check_shape(tensors.key, "key_BLTGA", {batch, chunks, kAnyExtent, kAnyExtent, width});
  const int64_t retrieved = tensors.key.size(2);
  const int64_t key_heads = tensors.key.size(3);
  RETRO_CHECK(retrieved % retrieved_length == 0,
              "key_BLTGA: {} retrieved positions are not a multiple of retrieved_length {}",
              retrieved, retrieved_length);
  RETRO_CHECK(key_heads > 0 && heads % key_heads == 0,
              "key_BLTGA: {} key heads do not divide {} query heads", key_heads, heads);
  check_shape(tensors.value, "value_BLTGA", {batch, chunks, retrieved, key_heads, width});
  check_like(tensors.key, "key_BLTGA", tensors.query);
  check_like(tensors.value, "value_BLTGA", tensors.query);
  if (tensors.key_is_real.defined()) {
    check_shape(tensors.key_is_real, "key_is_real_BLT", {batch, chunks, retrieved});
    check_type(tensors.key_is_real, "key_is_real_BLT", at::kBool);
    check_device_like(tensors.key_is_real, "key_is_real_BLT", tensors.query);
  }
  if (tensors.row_is_active.defined()) {
    check_shape(tensors.row_is_active, "row_is_active_BN", {batch, length});
    check_type(tensors.row_is_active, "row_is_active_BN", at::kBool);
    check_device_like(tensors.row_is_active, "row_is_active_BN", tensors.query);
  }
}

}  // namespace

at::Tensor chunked_cross_attention(const ChunkedCrossAttentionOperands& operands,
                                   int64_t chunk_length, int64_t retrieved_length,
                                   int64_t first_distance) {
  const AttentionTensors tensors{.query = operands.query_BNHA,
                                 .key = operands.key_BLTGA,
                                 .value = operands.value_BLTGA,
                                 .relative = operands.relative_XHA,
                                 .content_bias = operands.content_bias_HA,
                                 .position_bias = operands.position_bias_HA,
                                 .key_is_real = operands.key_is_real_BLT,
                                 .row_is_active = operands.row_is_active_BN,
                                 .query_segment = {},
                                 .key_segment = {}};
  check_attention_operands(tensors, chunk_length, retrieved_length);
  if (tensors.key.numel() == 0) return at::zeros_like(tensors.query);
  check_position_operands(tensors, first_distance, chunk_length - retrieved_length,
                          2 * chunk_length - 2);
  return apply_attention(tensors, {.geometry = {.distance_offset = chunk_length - 1,
                                                .key_period = retrieved_length,
                                                .first_distance = first_distance},
                                   .chunk_length = chunk_length});
}

}  // namespace retro
