#include "retro/model/distance_cache.h"

#include <cmath>

#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>
#include <torch/types.h>

namespace retro {
namespace {

/// S/2 sines, then S/2 cosines of distance * 10000^(-2j/S).
void expect_features(const torch::Tensor& features, int64_t first) {
  const int64_t width = features.size(1);
  for (int64_t row = 0; row < features.size(0); ++row) {
    for (int64_t j = 0; j < width / 2; ++j) {
      const double angle =
          static_cast<double>(first + row) *
          std::pow(10000.0, -2.0 * static_cast<double>(j) / static_cast<double>(width));
      EXPECT_NEAR(features[row][j].item<double>(), std::sin(angle), 1e-7);
      EXPECT_NEAR(features[row][j + width / 2].item<double>(), std::cos(angle), 1e-7);
    }
  }
}

TEST(DistanceCache, RowsAreTheirDistancesAfterAnyGrowth) {
  DistanceCache cache;
  const torch::Tensor like = torch::empty({1});
  const std::vector<DistanceRange> ranges = {{0, 5}, {-3, 4}, {2, 9}, {-3, 2}, {10, 1}};
  for (const DistanceRange& range : ranges) {
    const torch::Tensor features = cache.features(range, 6, like);
    EXPECT_EQ(features.sizes(), (torch::IntArrayRef{range.count, 6}));
    EXPECT_EQ(features.scalar_type(), torch::kFloat);
    expect_features(features, range.first);
  }
}

TEST(DistanceCache, EqualRangesShareMemory) {
  DistanceCache cache;
  const torch::Tensor like = torch::empty({1});
  const torch::Tensor wide = cache.features({-4, 20}, 8, like);
  EXPECT_EQ(cache.features({0, 3}, 8, like).const_data_ptr<float>(),
            wide[4].const_data_ptr<float>());
}

TEST(DistanceCache, WidthsAndTypesAreKeptApart) {
  DistanceCache cache;
  cache.features({0, 4}, 8, torch::empty({1}));
  expect_features(cache.features({0, 4}, 6, torch::empty({1})), 0);
  const torch::Tensor doubles = cache.features({1, 2}, 8, torch::empty({1}, torch::kDouble));
  EXPECT_EQ(doubles.scalar_type(), torch::kDouble);
  EXPECT_DOUBLE_EQ(doubles[0][0].item<double>(), std::sin(1.0));
}

/// Sampling first, training later: autograd refuses tensors of the inference mode.
TEST(DistanceCache, TableMadeWhileSamplingServesTraining) {
  DistanceCache cache;
  const torch::Tensor weight = torch::ones({4, 4}, torch::requires_grad());
  {
    const c10::InferenceMode inference;
    cache.features({0, 3}, 4, weight);
  }
  const torch::Tensor features = cache.features({0, 3}, 4, weight);
  EXPECT_FALSE(features.is_inference());
  EXPECT_FALSE(features.requires_grad());
  torch::matmul(features, weight).sum().backward();
  EXPECT_TRUE(weight.grad().defined());
}

}  // namespace
}  // namespace retro
