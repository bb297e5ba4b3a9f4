#include "row_attention.h"

#include <cmath>
#include <limits>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "retro/ops/relative_attention.h"

namespace retro {
namespace {

constexpr int64_t kRows = 3;
constexpr int64_t kKeys = 13;
constexpr int64_t kHeads = 2;
constexpr int64_t kWidth = 6;

RowAttentionOperands random_operands(int64_t num_distances) {
  at::manual_seed(1);
  RowAttentionOperands operands;
  operands.query_NHA = at::randn({kRows, kHeads, kWidth});
  operands.key_TGA = at::randn({kKeys, kHeads, kWidth});
  operands.value_TGA = at::randn({kKeys, kHeads, kWidth});
  operands.key_is_real_T = at::ones({kKeys}, at::kBool);
  operands.relative_XHA = at::randn({num_distances, kHeads, kWidth});
  operands.content_bias_HA = at::randn({kHeads, kWidth});
  operands.position_bias_HA = at::randn({kHeads, kWidth});
  return operands;
}

/// METHOD section 3's formula for one query row and head, in float64.
at::Tensor expected_row(const RowAttentionOperands& operands, const RowAttentionGeometry& geometry,
                        int64_t i, int64_t h) {
  const auto wide = [h](const at::Tensor& tensor, int64_t row) {
    return tensor[row][h].to(at::kDouble);
  };
  double sum = 0;
  at::Tensor out = at::zeros({kWidth}, at::kDouble);
  for (int64_t j = 0; j < operands.key_TGA.size(0); ++j) {
    if (!operands.key_is_real_T[j].item<bool>()) continue;
    if (geometry.is_causal && j > i + geometry.causal_offset) continue;
    const at::Tensor query = wide(operands.query_NHA, i);
    double score =
        (query + operands.content_bias_HA[h]).dot(wide(operands.key_TGA, j)).item<double>();
    if (operands.relative_XHA.defined()) {
      const int64_t place = geometry.key_period > 0 ? j % geometry.key_period : j;
      const int64_t distance = i - place + geometry.distance_offset;
      score += (query + operands.position_bias_HA[h])
                   .dot(wide(operands.relative_XHA, distance - geometry.first_distance))
                   .item<double>();
    }
    const double weight = std::exp(score / std::sqrt(static_cast<double>(kWidth)));
    sum += weight;
    out += weight * wide(operands.value_TGA, j);
  }
  return sum == 0 ? out : out / sum;
}

void expect_formula(const RowAttentionOperands& operands, const RowAttentionGeometry& geometry) {
  const at::Tensor found = row_attention(operands, geometry);
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t h = 0; h < kHeads; ++h) {
      const at::Tensor expected = expected_row(operands, geometry, i, h);
      EXPECT_LT((found[i][h].to(at::kDouble) - expected).abs().max().item<double>(), 1e-5)
          << i << " " << h;
    }
  }
}

TEST(RowAttentionTest, CachedSelfAttention) {
  // The last 3 of 13 positions are the queries.
  expect_formula(
      random_operands(kKeys),
      {.distance_offset = kKeys - kRows, .is_causal = true, .causal_offset = kKeys - kRows});
}

TEST(RowAttentionTest, DistancesRestartAtEveryNeighbour) {
  // Two neighbours of 6 positions and one key more; distances from 2 - 5 to 2 + 2.
  expect_formula(random_operands(8), {.key_period = 6, .distance_offset = 2, .first_distance = -3});
}

TEST(RowAttentionTest, WithoutPositions) {
  RowAttentionOperands operands = random_operands(1);
  operands.relative_XHA = operands.position_bias_HA = at::Tensor();
  expect_formula(operands, {});
}

TEST(RowAttentionTest, MaskedKeysAreNeverTouched) {
  RowAttentionOperands operands = random_operands(kKeys);
  for (const int64_t j : {0, 4, 12}) {
    operands.key_is_real_T[j] = false;
    operands.key_TGA[j].fill_(std::numeric_limits<float>::quiet_NaN());
    operands.value_TGA[j].fill_(std::numeric_limits<float>::quiet_NaN());
  }
  expect_formula(
      operands,
      {.distance_offset = kKeys - kRows, .is_causal = true, .causal_offset = kKeys - kRows});
  operands.key_is_real_T.fill_(false);
  EXPECT_EQ(row_attention(operands, {.distance_offset = kKeys - 3}).abs().max().item<float>(),
            0.0F);
}

TEST(RowAttentionTest, StridedOperandsAndManyHeadsAgreeWithTheOperation) {
  // Enough work for several threads; keys are a view into a longer buffer.
  at::manual_seed(2);
  constexpr int64_t kLength = 700;
  const at::Tensor buffer = at::randn({2, 1024, 16, 64});
  RowAttentionOperands rows;
  rows.query_NHA = at::randn({5, 16, 64});
  rows.key_TGA = buffer[0].narrow(0, 0, kLength);
  rows.value_TGA = buffer[1].narrow(0, 0, kLength);
  rows.key_is_real_T = at::rand({kLength}).gt(0.1);
  rows.relative_XHA = at::randn({1024, 16, 64});
  rows.content_bias_HA = at::randn({16, 64});
  rows.position_bias_HA = at::randn({16, 64});
  AttentionOperands operands;
  operands.query_BNHA = rows.query_NHA.unsqueeze(0);
  operands.key_BTGA = rows.key_TGA.unsqueeze(0);
  operands.value_BTGA = rows.value_TGA.unsqueeze(0);
  operands.key_is_real_BT = rows.key_is_real_T.unsqueeze(0);
  operands.relative_XHA = rows.relative_XHA;
  operands.content_bias_HA = rows.content_bias_HA;
  operands.position_bias_HA = rows.position_bias_HA;
  const at::Tensor expected = relative_attention(
      operands, {.is_causal = true, .causal_offset = kLength - 5, .distance_offset = kLength - 5});
  const at::Tensor found = row_attention(
      rows, {.distance_offset = kLength - 5, .is_causal = true, .causal_offset = kLength - 5});
  EXPECT_LT((found - expected[0]).abs().max().item<float>(), 1e-4F);
}

}  // namespace
}  // namespace retro
