#include "retro/generate/sampler.h"

#include <cmath>
#include <limits>
#include <map>

#include <gtest/gtest.h>

#include "retro/core/error.h"

namespace retro {
namespace {

SampleConfig filters(double temperature, int64_t top_k, double top_p) {
  SampleConfig config;
  config.temperature = temperature;
  config.top_k = top_k;
  config.top_p = top_p;
  return config;
}

/// Logits of the probabilities 0.1, 0.4, 0.05, 0.2, 0.25.
std::vector<float> example() {
  std::vector<float> logits;
  for (const double probability : {0.1, 0.4, 0.05, 0.2, 0.25})
    logits.push_back(static_cast<float>(std::log(probability)));
  return logits;
}

void expect_near(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6) << i;
}

TEST(Sampler, WithoutFiltersEveryTokenKeepsItsProbability) {
  const TokenChoices choices = token_choices(example(), filters(1.0, 0, 1.0));
  EXPECT_EQ(choices.ids, (std::vector<int32_t>{0, 1, 2, 3, 4}));
  expect_near(choices.probabilities, {0.1, 0.4, 0.05, 0.2, 0.25});
}

TEST(Sampler, TopKKeepsTheLikeliest) {
  const TokenChoices choices = token_choices(example(), filters(1.0, 3, 1.0));
  EXPECT_EQ(choices.ids, (std::vector<int32_t>{1, 4, 3}));
  expect_near(choices.probabilities, {0.4 / 0.85, 0.25 / 0.85, 0.2 / 0.85});
  EXPECT_EQ(token_choices(example(), filters(1.0, 99, 1.0)).ids.size(), 5u);
}

TEST(Sampler, TopPKeepsTheSmallestPrefixAndTheTokenThatCrosses) {
  // 0.4, 0.65, 0.85, 0.95, 1.
  EXPECT_EQ(token_choices(example(), filters(1.0, 0, 0.3)).ids, (std::vector<int32_t>{1}));
  EXPECT_EQ(token_choices(example(), filters(1.0, 0, 0.41)).ids, (std::vector<int32_t>{1, 4}));
  EXPECT_EQ(token_choices(example(), filters(1.0, 0, 0.7)).ids, (std::vector<int32_t>{1, 4, 3}));
  const TokenChoices choices = token_choices(example(), filters(1.0, 0, 0.9));
  EXPECT_EQ(choices.ids, (std::vector<int32_t>{1, 4, 3, 0}));
  expect_near(choices.probabilities, {0.4 / 0.95, 0.25 / 0.95, 0.2 / 0.95, 0.1 / 0.95});
}

TEST(Sampler, ReachingTheThresholdExactlyIsEnough) {
  // Powers of two: the sums are exact. 0.5 reaches 0.5, 0.75 reaches 0.75.
  const std::vector<float> logits = {std::log(0.25F), std::log(0.5F), std::log(0.25F)};
  const std::vector<float> exact = {0.0F, 0.0F};
  EXPECT_EQ(token_choices(exact, filters(1.0, 0, 0.5)).ids, (std::vector<int32_t>{0}));
  EXPECT_EQ(token_choices(logits, filters(1.0, 0, 0.6)).ids, (std::vector<int32_t>{1, 0}));
}

TEST(Sampler, TopPCountsWhatTopKLeft) {
  // After top-3 the shares are 0.4706, 0.2941, 0.2353: 0.76 crosses at the second only because they
  // were renormalised.
  EXPECT_EQ(token_choices(example(), filters(1.0, 3, 0.76)).ids, (std::vector<int32_t>{1, 4}));
  EXPECT_EQ(token_choices(example(), filters(1.0, 0, 0.76)).ids, (std::vector<int32_t>{1, 4, 3}));
}

TEST(Sampler, TiesGoToTheLowerId) {
  const std::vector<float> logits = {0, 1, 1, 0, 1};
  EXPECT_EQ(token_choices(logits, filters(1.0, 2, 1.0)).ids, (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(token_choices(logits, filters(0.0, 0, 1.0)).ids, (std::vector<int32_t>{1}));
  EXPECT_EQ(token_choices(logits, filters(1.0, 0, 0.3)).ids, (std::vector<int32_t>{1, 2}));
}

TEST(Sampler, TemperatureComesFirst) {
  // At temperature 0.5 the probabilities are squared: .01 .16 .0025 .04 .0625, sum .275.
  const TokenChoices choices = token_choices(example(), filters(0.5, 0, 1.0));
  expect_near(choices.probabilities,
              {.01 / .275, .16 / .275, .0025 / .275, .04 / .275, .0625 / .275});
  EXPECT_EQ(token_choices(example(), filters(0.5, 0, 0.6)).ids, (std::vector<int32_t>{1, 4}));
}

TEST(Sampler, ImpossibleTokensAreNeverKept) {
  const float never = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(token_choices(std::vector<float>{never, 1, never, 0}, filters(1.0, 0, 1.0)).ids,
            (std::vector<int32_t>{1, 3}));
  EXPECT_THROW(token_choices(std::vector<float>{never, never}, filters(1.0, 0, 1.0)), Error);
  EXPECT_THROW(token_choices(std::vector<float>{0, std::nanf("")}, filters(1.0, 0, 1.0)), Error);
  EXPECT_THROW(token_choices(std::vector<float>{0, std::nanf("")}, filters(0.0, 0, 1.0)), Error);
}

TEST(Sampler, DrawsFollowTheProbabilities) {
  const TokenChoices choices{{7, 3, 9}, {0.5, 0.3, 0.2}};
  RandomStream random(1, "sampler test");
  std::map<int32_t, int> counts;
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) ++counts[draw_token(choices, random)];
  // Five standard deviations of a share: 5 x sqrt(0.25 / 20,000) = 0.018.
  EXPECT_NEAR(counts[7] / static_cast<double>(kDraws), 0.5, 0.018);
  EXPECT_NEAR(counts[3] / static_cast<double>(kDraws), 0.3, 0.018);
  EXPECT_NEAR(counts[9] / static_cast<double>(kDraws), 0.2, 0.018);
}

TEST(Sampler, SameSeedSameDraws) {
  const TokenChoices choices = token_choices(example(), filters(1.0, 0, 1.0));
  RandomStream a(5, "sampler test");
  RandomStream b(5, "sampler test");
  for (int i = 0; i < 100; ++i) EXPECT_EQ(draw_token(choices, a), draw_token(choices, b));
}

TEST(Sampler, LogSumExpOfLargeLogits) {
  EXPECT_NEAR(log_sum_exp(std::vector<float>{1000, 1000}), 1000 + std::log(2.0), 1e-9);
  EXPECT_NEAR(log_sum_exp(example()), 0.0, 1e-6);
}

}  // namespace
}  // namespace retro
