#include "retro/eval/bootstrap.h"

#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "retro/core/error.h"
#include "retro/core/parallel.h"

namespace retro {
namespace {

/// Documents of 100 bytes whose difference is normal with the given mean and deviation, in bits per
/// byte.
std::vector<PairedLoss> normal_documents(int count, double mean, double deviation, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> difference(mean, deviation);
  std::vector<PairedLoss> documents;
  for (int i = 0; i < count; ++i) {
    documents.push_back({200.0 + 100 * std::numbers::ln2 * difference(random), 200.0, 100});
  }
  return documents;
}

TEST(Bootstrap, EstimateIsTheDifferenceOfTheSums) {
  const std::vector<PairedLoss> documents = {{10, 8, 10}, {6, 7, 30}};
  // (16 - 15) nats over 40 bytes.
  EXPECT_NEAR(paired_bootstrap(documents, {}).estimate, 1.0 / (40 * std::numbers::ln2), 1e-15);
}

TEST(Bootstrap, TwoDocumentsGiveTheirTwoValuesAsBounds) {
  // A quarter of the draws takes the first twice, a quarter the second twice: both lie beyond
  // the 2.5 % tails.
  const std::vector<PairedLoss> documents = {{10, 8, 10}, {6, 7, 10}};
  const Interval interval = paired_bootstrap(documents, {});
  EXPECT_NEAR(interval.low, -1.0 / (10 * std::numbers::ln2), 1e-12);
  EXPECT_NEAR(interval.high, 2.0 / (10 * std::numbers::ln2), 1e-12);
}

TEST(Bootstrap, WidthIsThatOfTheMean) {
  // 400 documents of deviation 0.2: standard error 0.01, 95 % within 1.96 of it. 2,000 resamples
  // and 400 documents leave about 5 % of noise in the width.
  const Interval interval = paired_bootstrap(normal_documents(400, 0.05, 0.2, 1), {});
  EXPECT_NEAR(interval.half_width(), 1.96 * 0.01, 0.0025);
  EXPECT_TRUE(interval.is_above_zero());
  EXPECT_FALSE(interval.is_below_zero());
}

TEST(Bootstrap, CoversTheTruthAboutAsOftenAsItSays) {
  int covered = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const Interval interval =
        paired_bootstrap(normal_documents(60, 0.1, 0.3, seed + 100), {500, 0.95, seed});
    covered += interval.low <= 0.1 && 0.1 <= interval.high ? 1 : 0;
  }
  // Binomial(200, 0.95) lies within 190 +- 3.3 x 3.1; percentile intervals of 60 documents are
  // about 1 % short.
  EXPECT_GE(covered, 176);
  EXPECT_LE(covered, 199);
}

TEST(Bootstrap, PairingCancelsWhatBothSystemsShare) {
  // Documents differ by hundreds of nats, the systems by exactly one nat each.
  std::vector<PairedLoss> documents;
  for (int i = 0; i < 50; ++i) documents.push_back({100.0 + 37 * i, 99.0 + 37 * i, 64});
  const Interval interval = paired_bootstrap(documents, {});
  EXPECT_NEAR(interval.low, 1.0 / (64 * std::numbers::ln2), 1e-12);
  EXPECT_NEAR(interval.high, 1.0 / (64 * std::numbers::ln2), 1e-12);
}

TEST(Bootstrap, SameSeedSameIntervalOnEveryThread) {
  const auto documents = normal_documents(40, 0.0, 1.0, 2);
  const Interval expected = paired_bootstrap(documents, {});
  std::vector<Interval> found(8);
  parallel_for(8, 4, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      found[static_cast<size_t>(i)] = paired_bootstrap(documents, {});
  });
  for (const Interval& interval : found) {
    EXPECT_EQ(interval.low, expected.low);
    EXPECT_EQ(interval.high, expected.high);
  }
  EXPECT_NE(paired_bootstrap(documents, {2000, 0.95, 2}).low, expected.low);
}

TEST(Bootstrap, NatsWithoutBytesCountAndAreNeverDrawnAlone) {
  // The end of a document alone: 11 - 8.5 nats over 10 bytes.
  const std::vector<PairedLoss> documents = {{10, 8, 10}, {1, 0.5, 0}};
  const Interval interval = paired_bootstrap(documents, {});
  EXPECT_NEAR(interval.estimate, 2.5 / (10 * std::numbers::ln2), 1e-12);
  // Of the draws with a byte a third takes the first twice (4 nats over 20), two thirds both.
  EXPECT_NEAR(interval.low, 2.0 / (10 * std::numbers::ln2), 1e-12);
  EXPECT_NEAR(interval.high, 2.5 / (10 * std::numbers::ln2), 1e-12);
  EXPECT_TRUE(std::isnan(paired_bootstrap(std::vector<PairedLoss>{{1, 0.5, 0}}, {}).estimate));
}

TEST(Bootstrap, DocumentsWithoutBytesAreNeverDrawnAlone) {
  const std::vector<PairedLoss> documents = {{10, 8, 10}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
  const Interval interval = paired_bootstrap(documents, {});
  EXPECT_TRUE(std::isfinite(interval.low) && std::isfinite(interval.high));
  EXPECT_TRUE(std::isnan(paired_bootstrap({}, {}).estimate));
  EXPECT_THROW(paired_bootstrap(documents, {0, 0.95, 1}), Error);
}

}  // namespace
}  // namespace retro
