#include "retro/core/random.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "core/test_support.h"

namespace retro {
namespace {

using testing::error_of;

// Random123's published known answers (kat_vectors, "philox4x32 10").
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}),
            (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox4x32_10({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(
      philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
      (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// Computed by a Python script from the definition in the header (xxhash and Philox written anew).
TEST(RandomStream, EqualsAnIndependentImplementation) {
  RandomStream random(42, "init", 3);
  EXPECT_EQ(random.state().key, 0x13a20902416cc15aU);
  EXPECT_EQ(random.next_u64(), 0x24626875a1eddbf1U);
  EXPECT_EQ(random.next_u64(), 0xa0548b6a17822b8cU);
  EXPECT_EQ(random.next_u64(), 0x4c9bfc75b276bd25U);
  RandomStream far(RandomStream::State{0x13a20902416cc15aU, (uint64_t{1} << 32) + 5});
  EXPECT_EQ(far.next_u64(), 0x7b6a038902cd9bdbU) << "the counter has 64 bits";
}

TEST(RandomStream, NamesSeedsAndIndicesSeparate) {
  std::set<uint64_t> keys;
  for (const uint64_t seed : {0, 1}) {
    for (const char* name : {"", "a", "b", "ab"}) {
      for (const uint64_t index : {0, 1, 256})
        keys.insert(RandomStream(seed, name, index).state().key);
    }
  }
  EXPECT_EQ(keys.size(), 2U * 4U * 3U);
}

TEST(RandomStream, ContinuesFromASavedState) {
  RandomStream random(7, "data");
  random.normal();
  random.below(10);
  RandomStream restored(random.state());
  EXPECT_EQ(restored.uniform(), random.uniform());
  EXPECT_EQ(restored.normal(), random.normal());
}

// Mean of 100,000 uniforms: standard error 0.2887 / sqrt(1e5) = 0.00091; five of them.
TEST(RandomStream, UniformCoversTheUnitInterval) {
  RandomStream random(1, "uniform");
  double sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double value = random.uniform();
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    sum += value;
  }
  EXPECT_NEAR(sum / 100'000, 0.5, 0.0046);
}

// Moments of a standard normal: errors 1/sqrt(n), sqrt(2/n), sqrt(96/n); five of each for n =
// 100,000.
TEST(RandomStream, NormalHasTheMomentsOfAStandardNormal) {
  RandomStream random(1, "normal");
  double sum = 0;
  double squares = 0;
  double fourths = 0;
  constexpr int kCount = 100'000;
  for (int i = 0; i < kCount; ++i) {
    const double value = random.normal();
    sum += value;
    squares += value * value;
    fourths += std::pow(value, 4);
  }
  EXPECT_NEAR(sum / kCount, 0.0, 5 / std::sqrt(kCount));
  EXPECT_NEAR(squares / kCount, 1.0, 5 * std::sqrt(2.0 / kCount));
  EXPECT_NEAR(fourths / kCount, 3.0, 5 * std::sqrt(96.0 / kCount));
}

// 60,000 draws below 6: 10,000 each with a standard deviation of 91; five of them.
TEST(RandomStream, BelowIsEven) {
  RandomStream random(1, "below");
  std::map<uint64_t, int> counts;
  for (int i = 0; i < 60'000; ++i) ++counts[random.below(6)];
  ASSERT_EQ(counts.size(), 6U);
  for (const auto& [value, count] : counts) EXPECT_NEAR(count, 10'000, 457) << value;
}

// A bound of 3 * 2^62 leaves a quarter of the 64-bit numbers over: a plain modulo would draw the
// lowest third of the range twice as often as the rest (share 1/2 instead of 1/3).
TEST(RandomStream, BelowHasNoModuloBias) {
  RandomStream random(1, "bias");
  const uint64_t third = uint64_t{1} << 62;
  int low = 0;
  for (int i = 0; i < 30'000; ++i) low += random.below(3 * third) < third ? 1 : 0;
  EXPECT_NEAR(low / 30'000.0, 1.0 / 3, 0.014);
}

TEST(RandomStream, BelowEdges) {
  RandomStream random(1, "edges");
  EXPECT_EQ(random.below(1), 0U);
  EXPECT_NE(error_of([&] { random.below(0); }), "");
}

TEST(Shuffle, EveryOrderIsEquallyLikely) {
  RandomStream random(3, "shuffle");
  std::map<std::vector<int64_t>, int> counts;
  for (int i = 0; i < 24'000; ++i) {
    std::vector<int64_t> values{0, 1, 2, 3};
    shuffle(values, random);
    ++counts[values];
  }
  EXPECT_EQ(counts.size(), 24U);
  // 1,000 each, standard deviation 31; five of them.
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1'000, 155);
}

TEST(Shuffle, EmptyAndSingle) {
  RandomStream random(3, "shuffle");
  std::vector<int64_t> none;
  shuffle(none, random);
  std::vector<int64_t> one{5};
  shuffle(one, random);
  EXPECT_EQ(one, std::vector<int64_t>{5});
}

TEST(Sample, IsSortedDistinctAndInRange) {
  RandomStream random(4, "sample");
  const auto sample = sample_without_replacement(1000, 300, random);
  EXPECT_EQ(sample.size(), 300U);
  EXPECT_TRUE(std::is_sorted(sample.begin(), sample.end()));
  EXPECT_EQ(std::adjacent_find(sample.begin(), sample.end()), sample.end());
  EXPECT_GE(sample.front(), 0);
  EXPECT_LT(sample.back(), 1000);
}

// Each of the 10 pairs out of 5 is drawn 1,000 times on average, standard deviation 30; five of
// them.
TEST(Sample, EverySubsetIsEquallyLikely) {
  RandomStream random(4, "subsets");
  std::map<std::vector<int64_t>, int> counts;
  for (int i = 0; i < 10'000; ++i) ++counts[sample_without_replacement(5, 2, random)];
  EXPECT_EQ(counts.size(), 10U);
  for (const auto& [subset, count] : counts) EXPECT_NEAR(count, 1'000, 150);
}

TEST(Sample, AllWhenTheCountReachesTheTotal) {
  RandomStream random(4, "all");
  const std::vector<int64_t> all{0, 1, 2};
  EXPECT_EQ(sample_without_replacement(3, 3, random), all);
  EXPECT_EQ(sample_without_replacement(3, 9, random), all);
  EXPECT_TRUE(sample_without_replacement(0, 9, random).empty());
  EXPECT_TRUE(sample_without_replacement(3, 0, random).empty());
}

TEST(Sample, MemoryFollowsTheCountNotTheTotal) {
  RandomStream random(4, "huge");
  const int64_t total = int64_t{1} << 60;
  const auto sample = sample_without_replacement(total, 10, random);
  EXPECT_EQ(sample.size(), 10U);
  EXPECT_LT(sample.back(), total);
  EXPECT_GT(sample.back(), total / 1000);
}

}  // namespace
}  // namespace retro
