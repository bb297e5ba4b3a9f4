// Attention's operands on their way to the kernels: strides, masks, chunks, alignment.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "retro/core/error.h"
#include "retro/ops/chunked_cross_attention.h"
#include "retro/ops/relative_attention.h"

#include "device_test_support.h"

namespace retro::testing {
namespace {

constexpr int64_t kWidth = 32;

Operand activation(const std::string& name, std::initializer_list<int64_t> shape) {
  return {name, torch::randn(shape), false};
}
Operand parameter(const std::string& name, std::initializer_list<int64_t> shape) {
  return {name, torch::randn(shape), true};
}

/// query, key, value of a plain attention, its relative rows and both biases.
std::vector<Operand> plain_operands(int64_t rows, int64_t keys, int64_t heads, int64_t key_heads,
                                    int64_t distances) {
  return {activation("query", {2, rows, heads, kWidth}),
          activation("key", {2, keys, key_heads, kWidth}),
          activation("value", {2, keys, key_heads, kWidth}),
          activation("relative", {distances, heads, kWidth}),
          parameter("content_bias", {heads, kWidth}),
          parameter("position_bias", {heads, kWidth})};
}

AttentionOperands attention_operands(const std::vector<at::Tensor>& t) {
  AttentionOperands operands;
  operands.query_BNHA = t[0];
  operands.key_BTGA = t[1];
  operands.value_BTGA = t[2];
  operands.relative_XHA = t[3];
  operands.content_bias_HA = t[4];
  operands.position_bias_HA = t[5];
  return operands;
}

TEST(AttentionDevice, CausalWithGroupedHeadsMasksAndSegments) {
  torch::manual_seed(1);
  const int64_t rows = 70;
  const at::Tensor is_real = torch::rand({2, rows}).lt(0.8);
  const at::Tensor segment = torch::arange(rows).ge(30).to(torch::kLong).expand({2, rows});
  expect_same_on_device(plain_operands(rows, rows, 4, 2, rows), [&](Precision) {
    return [&](const std::vector<at::Tensor>& t) {
      AttentionOperands operands = attention_operands(t);
      operands.key_is_real_BT = is_real.to(t[0].device());
      operands.query_segment_BN = segment.to(t[0].device());
      operands.key_segment_BT = operands.query_segment_BN;
      return relative_attention(operands, {.is_causal = true});
    };
  });
}

TEST(AttentionDevice, QueriesAfterCachedKeys) {
  torch::manual_seed(2);
  expect_same_on_device(plain_operands(3, 40, 2, 2, 40), [&](Precision) {
    return [&](const std::vector<at::Tensor>& t) {
      return relative_attention(attention_operands(t),
                                {.is_causal = true, .causal_offset = 37, .distance_offset = 37});
    };
  });
}

TEST(AttentionDevice, ReadsViewsWhereTheyLie) {
  torch::manual_seed(3);
  const std::vector<Operand> packed = {activation("packed", {2, 33, 3, 2, kWidth})};
  expect_same_on_device(packed, [&](Precision) {
    return [&](const std::vector<at::Tensor>& t) {
      AttentionOperands operands;
      operands.query_BNHA = t[0].select(2, 0);
      operands.key_BTGA = t[0].select(2, 1);
      operands.value_BTGA = t[0].select(2, 2);
      return relative_attention(operands, {.is_causal = true});
    };
  });
}

TEST(AttentionDevice, RowsThatDoNotStartAtSixteenBytesAreCopied) {
  torch::manual_seed(4);
  const std::vector<Operand> shifted = {activation("memory", {2 * 5 * kWidth + 1})};
  expect_same_on_device(shifted, [&](Precision) {
    return [&](const std::vector<at::Tensor>& t) {
      AttentionOperands operands;
      operands.query_BNHA = t[0].slice(0, 1).view({2, 5, 1, kWidth});
      operands.key_BTGA = operands.value_BTGA = operands.query_BNHA;
      return relative_attention(operands, {});
    };
  });
}

TEST(AttentionDevice, ChunksWithMissingNeighboursAndInactiveRows) {
  torch::manual_seed(5);
  const int64_t m = 8, r = 16, k = 3, length = 30, heads = 2;
  const int64_t chunks = length / m;
  at::Tensor is_real = torch::rand({2, chunks, k * r}).lt(0.8);
  is_real.select(1, 0).fill_(false);        // a chunk without neighbours
  is_real.slice(2, r, 2 * r).fill_(false);  // the second neighbour of every chunk
  const at::Tensor is_active = torch::arange(length).lt(25).expand({2, length});
  const std::vector<Operand> operands = {activation("query", {2, length, heads, kWidth}),
                                         activation("key", {2, chunks, k * r, heads, kWidth}),
                                         activation("value", {2, chunks, k * r, heads, kWidth}),
                                         activation("relative", {r + m - 1, heads, kWidth}),
                                         parameter("content_bias", {heads, kWidth}),
                                         parameter("position_bias", {heads, kWidth})};
  expect_same_on_device(operands, [&](Precision) {
    return [&](const std::vector<at::Tensor>& t) {
      const at::Device device = t[0].device();
      return chunked_cross_attention(
          {t[0], t[1], t[2], t[3], t[4], t[5], is_real.to(device), is_active.to(device)}, m, r,
          m - r);
    };
  });
}

TEST(AttentionDevice, AHeadWidthWithoutAKernelIsNamed) {
  AttentionOperands operands;
  operands.query_BNHA = torch::zeros({1, 2, 1, 48}).to(kDevice);
  operands.key_BTGA = operands.value_BTGA = operands.query_BNHA;
  try {
    relative_attention(operands, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("head width of 48"), std::string::npos);
  }
}

}  // namespace
}  // namespace retro::testing
