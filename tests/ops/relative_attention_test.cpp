// Values of relative attention: by hand, then against the definition in float64.
#include "retro/ops/relative_attention.h"

#include <limits>

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "retro/core/error.h"

#include "attention_case.h"
#include "tolerance.h"

namespace retro {
namespace {

using namespace testing;

/// Scores and outputs are sums over width and keys of normal variables: |q|, |k|, |r| mostly
/// under 5.
double attention_bound(const AttentionShape& shape) {
  return float_bound(shape.width + shape.keys,
                     5.0 * 2.0 * 5.0 * std::sqrt(static_cast<double>(shape.width)));
}

void expect_definition(const AttentionOperands& operands, const AttentionGeometry& geometry,
                       double float_tolerance) {
  const at::Tensor expected = expected_attention(operands, geometry);
  expect_close(relative_attention(operands, geometry), expected, 1e-11);
  expect_close(relative_attention(converted(operands, at::kFloat), geometry), expected,
               float_tolerance);
}

TEST(RelativeAttention, WorkedByHand) {
  // One query 2, keys 1 and 3, values 10 and 20, width 1. Relative rows: distance -1 -> 0.5, 0 ->
  // -1. Scores: (2 + 1) 1 + (2 + 3)(-1) = -2 at distance 0; (2 + 1) 3 + (2 + 3) 0.5 = 11.5 at
  // distance -1.
  AttentionOperands operands;
  operands.query_BNHA = at::full({1, 1, 1, 1}, 2.0, at::kDouble);
  operands.key_BTGA = at::tensor({1.0, 3.0}, at::kDouble).view({1, 2, 1, 1});
  operands.value_BTGA = at::tensor({10.0, 20.0}, at::kDouble).view({1, 2, 1, 1});
  operands.relative_XHA = at::tensor({0.5, -1.0}, at::kDouble).view({2, 1, 1});
  operands.content_bias_HA = at::full({1, 1}, 1.0, at::kDouble);
  operands.position_bias_HA = at::full({1, 1}, 3.0, at::kDouble);
  const double first = std::exp(-2.0 - 11.5);
  const double expected = (10 * first + 20) / (first + 1);
  const at::Tensor out = relative_attention(operands, {.first_distance = -1});
  EXPECT_NEAR(out.item<double>(), expected, 1e-13);
}

TEST(RelativeAttention, UniformScoresAverageTheValues) {
  AttentionOperands operands;
  operands.query_BNHA = at::zeros({1, 3, 1, 4}, at::kDouble);
  operands.key_BTGA = at::randn({1, 3, 1, 4}, at::kDouble);
  operands.value_BTGA = at::arange(12, at::kDouble).view({1, 3, 1, 4});
  const at::Tensor out = relative_attention(operands, {.is_causal = true});
  const at::Tensor expected =
      at::tensor({0., 1., 2., 3., 2., 3., 4., 5., 4., 5., 6., 7.}, at::kDouble).view({1, 3, 1, 4});
  expect_close(out, expected, 1e-14);
}

struct Lengths {
  int64_t rows;
  int64_t keys;
};

class RelativeAttentionLengths : public ::testing::TestWithParam<Lengths> {};

TEST_P(RelativeAttentionLengths, MatchesTheDefinition) {
  at::manual_seed(1);
  const AttentionShape shape{.rows = GetParam().rows, .keys = GetParam().keys};
  const AttentionGeometry geometry{.distance_offset = 3, .first_distance = 4 - shape.keys};
  expect_definition(random_operands(shape, geometry), geometry, attention_bound(shape));
}

TEST_P(RelativeAttentionLengths, MatchesTheDefinitionCausally) {
  at::manual_seed(2);
  const AttentionShape shape{.rows = GetParam().rows, .keys = GetParam().keys};
  const int64_t before = std::max<int64_t>(shape.keys - shape.rows, 0);
  const AttentionGeometry geometry{
      .is_causal = true, .causal_offset = before, .distance_offset = before};
  expect_definition(random_operands(shape, geometry), geometry, attention_bound(shape));
}

INSTANTIATE_TEST_SUITE_P(StraddlingTiles, RelativeAttentionLengths,
                         ::testing::Values(Lengths{1, 1}, Lengths{1, 129}, Lengths{3, 4},
                                           Lengths{31, 33}, Lengths{32, 31}, Lengths{33, 32},
                                           Lengths{63, 65}, Lengths{64, 64}, Lengths{65, 63},
                                           Lengths{64, 127}, Lengths{64, 128}, Lengths{130, 129},
                                           Lengths{128, 64}, Lengths{200, 300}));

class RelativeAttentionWidths : public ::testing::TestWithParam<int64_t> {};

TEST_P(RelativeAttentionWidths, MatchesTheDefinition) {
  at::manual_seed(3);
  const AttentionShape shape{.batch = 1, .rows = 35, .keys = 70, .width = GetParam()};
  const AttentionGeometry geometry{.first_distance = -69};
  expect_definition(random_operands(shape, geometry), geometry, attention_bound(shape));
}

INSTANTIATE_TEST_SUITE_P(Widths, RelativeAttentionWidths,
                         ::testing::Values(1, 7, 8, 32, 64, 96, 128));

TEST(RelativeAttention, GroupedHeadsShareKeys) {
  at::manual_seed(4);
  const AttentionShape shape{.rows = 40, .keys = 50, .heads = 6, .key_heads = 2};
  const AttentionGeometry geometry{.first_distance = -49};
  expect_definition(random_operands(shape, geometry), geometry, attention_bound(shape));
}

TEST(RelativeAttention, WorksWithoutPositionsAndBiases) {
  at::manual_seed(5);
  const AttentionShape shape{.rows = 20, .keys = 33};
  AttentionOperands operands = random_operands(shape, {.first_distance = -32});
  operands.relative_XHA = at::Tensor();
  operands.content_bias_HA = at::Tensor();
  operands.position_bias_HA = at::Tensor();
  expect_definition(operands, {}, attention_bound(shape));
}

TEST(RelativeAttention, DistancesRestartAtEveryPeriod) {
  at::manual_seed(6);
  for (const int64_t period : {1, 5, 127, 128, 129}) {
    const AttentionShape shape{.batch = 1, .rows = 9, .keys = 3 * period};
    const AttentionGeometry geometry{
        .distance_offset = 2, .key_period = period, .first_distance = 3 - period};
    expect_definition(random_operands(shape, geometry), geometry, attention_bound(shape));
  }
}

at::Tensor some_keys(const AttentionShape& shape) {
  const at::Tensor real = at::rand({shape.batch, shape.keys}).lt(0.7);
  real[0].narrow(0, 0, shape.keys / 2) = false;  // whole tiles
  return real;
}

void poison(const at::Tensor& tensor_BTGA, const at::Tensor& real_BT) {
  tensor_BTGA.masked_fill_(real_BT.logical_not().unsqueeze(-1).unsqueeze(-1), testing::kNan);
}

TEST(RelativeAttention, MaskedKeysAreNeverRead) {
  at::manual_seed(7);
  const AttentionShape shape{.rows = 66, .keys = 300};
  const AttentionGeometry geometry{.first_distance = -299};
  AttentionOperands operands = random_operands(shape, geometry);
  operands.key_is_real_BT = some_keys(shape);
  poison(operands.key_BTGA, operands.key_is_real_BT);
  poison(operands.value_BTGA, operands.key_is_real_BT);
  expect_definition(operands, geometry, attention_bound(shape));
}

TEST(RelativeAttention, RowWithoutKeysIsExactlyZero) {
  at::manual_seed(8);
  const AttentionShape shape{.rows = 5, .keys = 40};
  const AttentionGeometry geometry{.first_distance = -39};
  AttentionOperands operands = random_operands(shape, geometry);
  operands.key_is_real_BT = at::ones({2, 40}, at::kBool);
  operands.key_is_real_BT[1] = false;
  poison(operands.key_BTGA, operands.key_is_real_BT);
  poison(operands.value_BTGA, operands.key_is_real_BT);
  operands.query_BNHA[1] = testing::kNan;
  const at::Tensor out = relative_attention(operands, geometry);
  EXPECT_TRUE(out[1].eq(0).all().item<bool>());
  EXPECT_TRUE(at::isfinite(out).all().item<bool>());
  EXPECT_TRUE(out[0].ne(0).all().item<bool>());
}

TEST(RelativeAttention, SegmentsSeeOnlyThemselves) {
  at::manual_seed(9);
  const AttentionShape shape{.rows = 150, .keys = 150};
  const AttentionGeometry geometry{.is_causal = true};
  AttentionOperands operands = random_operands(shape, geometry);
  operands.query_segment_BN = at::randint(0, 3, {2, 150}, at::kLong);
  operands.key_segment_BT = at::randint(0, 3, {2, 150}, at::kLong);
  expect_definition(operands, geometry, attention_bound(shape));
}

TEST(RelativeAttention, DecodingOneQueryEqualsTheLastRow) {
  at::manual_seed(10);
  const AttentionShape shape{.rows = 131, .keys = 131, .width = 32};
  const AttentionGeometry geometry{.is_causal = true};
  const AttentionOperands full = converted(random_operands(shape, geometry), at::kFloat);
  AttentionOperands last = full;
  last.query_BNHA = full.query_BNHA.narrow(1, 130, 1);
  const at::Tensor row =
      relative_attention(last, {.is_causal = true, .causal_offset = 130, .distance_offset = 130});
  expect_close(row, relative_attention(full, geometry).narrow(1, 130, 1), 1e-5);
}

TEST(RelativeAttention, ReadsStridedOperands) {
  at::manual_seed(11);
  const AttentionShape shape{.rows = 34, .keys = 34};
  const AttentionGeometry geometry{.is_causal = true};
  AttentionOperands operands = random_operands(shape, geometry);
  // One projection [B, N, 3, H, A]; relative and biases as [H, X, A] and [A, H].
  const at::Tensor packed =
      at::stack({operands.query_BNHA, operands.key_BTGA, operands.value_BTGA}, 2);
  operands.query_BNHA = packed.select(2, 0);
  operands.key_BTGA = packed.select(2, 1);
  operands.value_BTGA = packed.select(2, 2);
  operands.relative_XHA = operands.relative_XHA.transpose(0, 1).contiguous().transpose(0, 1);
  operands.content_bias_HA = operands.content_bias_HA.t().contiguous().t();
  expect_definition(operands, geometry, attention_bound(shape));
}

TEST(RelativeAttention, EmptyExtentsGiveEmptyOrZeroResults) {
  const AttentionGeometry geometry{.first_distance = -6};
  const AttentionOperands no_batch = random_operands({.batch = 0}, geometry);
  EXPECT_EQ(relative_attention(no_batch, geometry).numel(), 0);
  AttentionOperands no_keys = random_operands({.keys = 0}, geometry);
  EXPECT_TRUE(relative_attention(no_keys, geometry).eq(0).all().item<bool>());
}

TEST(RelativeAttention, AnyThreadCountGivesTheSameBits) {
  at::manual_seed(12);
  const AttentionGeometry geometry{.is_causal = true};
  const AttentionOperands operands =
      converted(random_operands({.batch = 3, .rows = 200, .keys = 200}, geometry), at::kFloat);
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const at::Tensor one = relative_attention(operands, geometry);
  at::set_num_threads(3);
  EXPECT_TRUE(identical(relative_attention(operands, geometry), one));
  at::set_num_threads(threads);
}

TEST(RelativeAttention, LongContextNeedsNoScoreMatrix) {
  // 2 x 60,000 x 60,000 scores would be 29 GB; without segments this takes a second, with two rows
  // of keys masked to a window it takes none.
  const AttentionShape shape{.batch = 1, .rows = 60000, .keys = 60000, .heads = 1, .key_heads = 1};
  AttentionOperands operands = converted(random_operands(shape, {.is_causal = true}), at::kFloat);
  operands.relative_XHA = at::Tensor();
  operands.key_is_real_BT = at::zeros({1, 60000}, at::kBool);
  operands.key_is_real_BT[0][0] = true;
  const at::Tensor out = relative_attention(operands, {.is_causal = true});
  EXPECT_LE(largest_difference(out, operands.value_BTGA.narrow(1, 0, 1).expand_as(out)), 0.0);
}

TEST(RelativeAttention, NamesTheOperandThatDoesNotFit) {
  const AttentionGeometry geometry{.first_distance = -6};
  AttentionOperands operands = random_operands({}, geometry);
  operands.relative_XHA = operands.relative_XHA.narrow(0, 1, 5);
  const auto message = [&] {
    try {
      relative_attention(operands, geometry);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message(), "relative_XHA: its rows are distances -6..-2, the geometry reaches -6..4");
  operands.value_BTGA = operands.value_BTGA.narrow(1, 0, 6);
  EXPECT_EQ(message(), "value_BTGA: expected shape [2, 7, 2, 8], got [2, 6, 2, 8]");
  operands.query_BNHA = operands.query_BNHA.to("meta");
  operands.key_BTGA = operands.key_BTGA.to("meta");
  operands.value_BTGA = operands.key_BTGA;
  operands.relative_XHA = operands.content_bias_HA = operands.position_bias_HA = at::Tensor();
  EXPECT_EQ(message(), "attention: no implementation for device meta, expected cpu or cuda");
}

TEST(DistanceFeatures, AreSinesThenCosines) {
  const at::Tensor features = distance_features(-1, 3, 4, at::kDouble);
  // width 4: frequencies 1 and 10000^(-1/2) = 0.01.
  const at::Tensor expected =
      at::tensor({-std::sin(1.0), -std::sin(0.01), std::cos(1.0), std::cos(0.01), 0.0, 0.0, 1.0,
                  1.0, std::sin(1.0), std::sin(0.01), std::cos(1.0), std::cos(0.01)},
                 at::kDouble)
          .view({3, 4});
  expect_close(features, expected, 1e-15);
  EXPECT_THROW(distance_features(0, 1, 3, at::kFloat), Error);
}

}  // namespace
}  // namespace retro
