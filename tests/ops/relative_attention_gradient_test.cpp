// Gradients of relative attention: float64 against central differences, float32 against float64.
#include <limits>

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "retro/ops/relative_attention.h"

#include "attention_case.h"
#include "gradient_check.h"
#include "tolerance.h"

namespace retro {
namespace {

using namespace testing;

std::vector<GradientInput> inputs_of(const AttentionOperands& operands) {
  std::vector<GradientInput> inputs{
      {"query", operands.query_BNHA}, {"key", operands.key_BTGA}, {"value", operands.value_BTGA}};
  if (operands.relative_XHA.defined()) inputs.push_back({"relative", operands.relative_XHA});
  if (operands.content_bias_HA.defined())
    inputs.push_back({"content_bias", operands.content_bias_HA});
  if (operands.position_bias_HA.defined())
    inputs.push_back({"position_bias", operands.position_bias_HA});
  return inputs;
}

void expect_attention_gradients(const AttentionOperands& operands,
                                const AttentionGeometry& geometry) {
  expect_gradients(inputs_of(operands), [&] { return relative_attention(operands, geometry); });
}

TEST(RelativeAttentionGradient, Bidirectional) {
  at::manual_seed(1);
  const AttentionGeometry geometry{.distance_offset = 1, .first_distance = -10};
  expect_attention_gradients(random_operands({.rows = 6, .keys = 12, .width = 7}, geometry),
                             geometry);
}

TEST(RelativeAttentionGradient, CausalAcrossTiles) {
  at::manual_seed(2);
  const AttentionGeometry geometry{.is_causal = true};
  expect_attention_gradients(
      random_operands({.batch = 1, .rows = 131, .keys = 131, .width = 5}, geometry), geometry);
}

TEST(RelativeAttentionGradient, PeriodicKeysAcrossTiles) {
  at::manual_seed(3);
  const AttentionGeometry geometry{.distance_offset = 4, .key_period = 129, .first_distance = -124};
  expect_attention_gradients(random_operands({.batch = 1, .rows = 5, .keys = 258}, geometry),
                             geometry);
}

TEST(RelativeAttentionGradient, GroupedHeads) {
  at::manual_seed(4);
  const AttentionGeometry geometry{.first_distance = -8};
  expect_attention_gradients(
      random_operands({.rows = 4, .keys = 9, .heads = 6, .key_heads = 2}, geometry), geometry);
}

TEST(RelativeAttentionGradient, ManyItemsShareOneRelativeGradient) {
  at::manual_seed(5);
  const AttentionGeometry geometry{.first_distance = -2};
  expect_attention_gradients(
      random_operands({.batch = 70, .rows = 2, .keys = 3, .width = 4}, geometry), geometry);
}

TEST(RelativeAttentionGradient, WithoutPositions) {
  at::manual_seed(6);
  AttentionOperands operands = random_operands({.rows = 6, .keys = 5}, {.first_distance = -4});
  operands.relative_XHA = operands.position_bias_HA = operands.content_bias_HA = at::Tensor();
  expect_attention_gradients(operands, {});
}

TEST(RelativeAttentionGradient, Segments) {
  at::manual_seed(7);
  const AttentionGeometry geometry{.is_causal = true};
  AttentionOperands operands = random_operands({.rows = 20, .keys = 20}, geometry);
  operands.query_segment_BN = at::arange(20, at::kLong).floor_divide(7).expand({2, 20});
  operands.key_segment_BT = operands.query_segment_BN;
  expect_attention_gradients(operands, geometry);
}

TEST(RelativeAttentionGradient, StridedOperands) {
  at::manual_seed(8);
  const AttentionGeometry geometry{.is_causal = true};
  const AttentionOperands plain = random_operands({.rows = 9, .keys = 9}, geometry);
  const at::Tensor packed = at::stack({plain.query_BNHA, plain.key_BTGA, plain.value_BTGA}, 2);
  expect_gradients({{"packed", packed}}, [&] {
    AttentionOperands operands = plain;
    operands.query_BNHA = packed.select(2, 0);
    operands.key_BTGA = packed.select(2, 1);
    operands.value_BTGA = packed.select(2, 2);
    return relative_attention(operands, geometry);
  });
}

/// Gradients of sum(out * weight) by name.
std::vector<at::Tensor> gradients_of(const AttentionOperands& operands,
                                     const AttentionGeometry& geometry, const at::Tensor& weight) {
  torch::autograd::variable_list variables;
  for (const GradientInput& input : inputs_of(operands))
    variables.push_back(input.value.requires_grad_(true));
  return torch::autograd::grad({relative_attention(operands, geometry)}, variables, {weight});
}

TEST(RelativeAttentionGradient, MaskedKeysAndEmptyRowsGiveNothing) {
  at::manual_seed(9);
  const AttentionGeometry geometry{.first_distance = -39};
  AttentionOperands operands = random_operands({.rows = 5, .keys = 40}, geometry);
  operands.key_is_real_BT = at::rand({2, 40}).lt(0.5);
  operands.key_is_real_BT[1] = false;
  const at::Tensor hidden = operands.key_is_real_BT.logical_not().unsqueeze(-1).unsqueeze(-1);
  operands.key_BTGA.masked_fill_(hidden, testing::kNan);
  operands.value_BTGA.masked_fill_(hidden, std::numeric_limits<double>::infinity());
  operands.query_BNHA[1] = testing::kNan;
  at::Tensor weight = at::randn({2, 5, 2, 8}, at::kDouble);
  weight[1] = testing::kNan;
  const auto gradients = gradients_of(operands, geometry, weight);
  for (const at::Tensor& gradient : gradients)
    EXPECT_TRUE(at::isfinite(gradient).all().item<bool>());
  EXPECT_TRUE(gradients[0][1].eq(0).all().item<bool>());
  EXPECT_TRUE(gradients[1].masked_select(hidden).eq(0).all().item<bool>());
  EXPECT_TRUE(gradients[2].masked_select(hidden).eq(0).all().item<bool>());
  EXPECT_TRUE(gradients[0][0].ne(0).all().item<bool>());

  // What the masked half holds does not matter: the real half alone gives the same.
  AttentionOperands alone = operands;
  alone.query_BNHA = operands.query_BNHA.detach().narrow(0, 0, 1).clone();
  alone.key_BTGA = operands.key_BTGA.detach().narrow(0, 0, 1).clone();
  alone.value_BTGA = operands.value_BTGA.detach().narrow(0, 0, 1).clone();
  alone.key_is_real_BT = operands.key_is_real_BT.narrow(0, 0, 1);
  const auto expected = gradients_of(alone, geometry, weight.narrow(0, 0, 1));
  EXPECT_LE(largest_difference(gradients[0].narrow(0, 0, 1), expected[0]), 1e-14);
  for (size_t n = 3; n < 6; ++n) EXPECT_LE(largest_difference(gradients[n], expected[n]), 1e-13);
}

TEST(RelativeAttentionGradient, Float32AgreesWithFloat64) {
  at::manual_seed(10);
  const AttentionShape shape{
      .batch = 3, .rows = 130, .keys = 200, .heads = 2, .key_heads = 1, .width = 32};
  const AttentionGeometry geometry{.first_distance = -199};
  AttentionOperands wide = random_operands(shape, geometry);
  wide.query_BNHA.mul_(0.3);
  AttentionOperands narrow = converted(wide, at::kFloat);
  const at::Tensor weight = at::randn({3, 130, 2, 32}, at::kDouble);
  const auto expected = gradients_of(wide, geometry, weight);
  const auto actual = gradients_of(narrow, geometry, weight.to(at::kFloat));
  for (size_t n = 0; n < expected.size(); ++n) {
    // Each is a sum over rows, keys and batch of terms of the size of the gradient's own largest
    // element.
    const double scale = expected[n].abs().max().item<double>();
    expect_close(actual[n], expected[n], float_bound(3 * 130 + 200 + 32, 5.0 * scale));
  }
}

TEST(RelativeAttentionGradient, AnyThreadCountGivesTheSameBits) {
  at::manual_seed(11);
  const AttentionGeometry geometry{.is_causal = true};
  const AttentionOperands operands =
      converted(random_operands({.batch = 5, .rows = 100, .keys = 100}, geometry), at::kFloat);
  const at::Tensor weight = at::randn({5, 100, 2, 8});
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const auto one = gradients_of(operands, geometry, weight);
  at::set_num_threads(3);
  const auto three = gradients_of(operands, geometry, weight);
  at::set_num_threads(threads);
  for (size_t n = 0; n < one.size(); ++n) EXPECT_TRUE(identical(one[n], three[n])) << n;
}

}  // namespace
}  // namespace retro
