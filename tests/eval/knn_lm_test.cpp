#include "retro/eval/knn_lm.h"

#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "retro/core/error.h"
#include "retro/core/random.h"

namespace retro {
namespace {

constexpr float kFar = std::numeric_limits<float>::infinity();

TEST(KnnLm, ProbabilityByHand) {
  const std::vector<float> distances = {1.0F, 3.0F, 3.0F, kFar};
  const double a = std::exp(-1.0);
  const double b = std::exp(-3.0);
  const auto p = [&](const std::vector<uint8_t>& is_target) {
    return std::exp(knn_log_probability(distances, is_target, 1.0));
  };
  EXPECT_NEAR(p({1, 0, 0, 0}), a / (a + 2 * b), 1e-12);
  EXPECT_NEAR(p({0, 1, 0, 0}), b / (a + 2 * b), 1e-12);
  EXPECT_NEAR(p({1, 1, 1, 0}), 1.0, 1e-12);
  EXPECT_EQ(p({0, 0, 0, 1}), 0.0);
  EXPECT_EQ(p({0, 0, 0, 0}), 0.0);
  // Large distances do not underflow.
  EXPECT_NEAR(
      knn_log_probability(std::vector<float>{2000.0F, 2001.0F}, std::vector<uint8_t>{1, 0}, 1.0),
      -std::log1p(std::exp(-1.0)), 1e-12);
  EXPECT_EQ(knn_log_probability(std::vector<float>{kFar}, std::vector<uint8_t>{0}, 1.0),
            -std::numeric_limits<double>::infinity());
}

TEST(KnnLm, MixtureByHand) {
  const double nats = -std::log(0.2);
  EXPECT_NEAR(interpolated_nats(nats, std::log(0.6), 0.25), -std::log(0.25 * 0.6 + 0.75 * 0.2),
              1e-12);
  EXPECT_NEAR(interpolated_nats(nats, -std::numeric_limits<double>::infinity(), 0.25),
              -std::log(0.75 * 0.2), 1e-12);
}

/// Tokens of a model that gives 1/8 to each; the stored states know half of the targets.
KnnTokens half_known(size_t count) {
  KnnTokens tokens;
  tokens.neighbours = 4;
  RandomStream random(1, "knn");
  for (size_t t = 0; t < count; ++t) {
    tokens.row.push_back(static_cast<int64_t>(t / 10));
    tokens.nats.push_back(std::log(8.0) + 0.01 * random.normal());
    tokens.bytes.push_back(3);
    for (int i = 0; i < 4; ++i) {
      const bool is_target = t % 2 == 0 && i < 2;
      tokens.exact_TK.push_back(10.0F + static_cast<float>(i) +
                                static_cast<float>(random.uniform()));
      tokens.exact_is_target_TK.push_back(is_target);
      tokens.approximate_TK.push_back(tokens.exact_TK.back() + 1.0F);
      tokens.approximate_is_target_TK.push_back(0);
    }
  }
  return tokens;
}

TEST(KnnLm, LambdaZeroIsTheModelExactly) {
  const KnnTokens tokens = half_known(100);
  EXPECT_EQ(knn_nats(tokens, KnnDistances::kExact, {0.0, 0.5}), tokens.nats);
}

TEST(KnnLm, TuningFindsTheGridsMinimum) {
  const KnnTokens tokens = half_known(200);
  const KnnSetting setting = tune_knn(tokens, KnnDistances::kExact, 2);
  EXPECT_GT(setting.lambda, 0.1);
  const auto sum = [&](const KnnSetting& tried) {
    const auto nats = knn_nats(tokens, KnnDistances::kExact, tried);
    return std::accumulate(nats.begin(), nats.end(), 0.0);
  };
  EXPECT_LT(sum(setting), sum({0, 1}) - 50);
  for (const double lambda : {0.1, 0.2, 0.4, 0.5, 0.7}) {
    EXPECT_LE(sum(setting), sum({lambda, setting.scale}) + 1e-9);
  }
  // Sharper distances prefer the nearest two, which know the target.
  EXPECT_LT(sum(setting), sum({setting.lambda, setting.scale / 100}));
}

TEST(KnnLm, WithoutHelpLambdaStaysZero) {
  const KnnSetting setting = tune_knn(half_known(200), KnnDistances::kApproximate, 1);
  EXPECT_EQ(setting.lambda, 0.0);
}

TEST(KnnLm, ConfigIsChecked) {
  KnnConfig config;
  check_knn_config(config);
  config.neighbours = 0;
  EXPECT_THROW(check_knn_config(config), Error);
}

}  // namespace
}  // namespace retro
