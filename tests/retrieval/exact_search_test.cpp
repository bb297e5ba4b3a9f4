#include "retro/retrieval/exact_search.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "retro/core/error.h"

#include "retrieval_test_support.h"

namespace retro {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Found {
  std::vector<int64_t> ids;
  std::vector<float> distances;
  bool operator==(const Found&) const = default;
};

Found run_search(const std::vector<float>& keys, const std::vector<float>& queries, int64_t width,
                 int64_t k, int num_threads = 1, const RowFilter& is_allowed = {}) {
  const size_t size = queries.size() / static_cast<size_t>(width) * static_cast<size_t>(k);
  Found found{std::vector<int64_t>(size, 77), std::vector<float>(size, 77)};
  exact_search(keys, queries, width, k, is_allowed, num_threads, found.ids, found.distances);
  return found;
}

std::vector<float> random_rows(int64_t rows, int64_t width, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(rows * width));
  for (float& value : values) value = normal(random);
  return values;
}

TEST(ExactSearch, ByHand) {
  const std::vector<float> keys{0, 0, 3, 4, 1, 0, -1, 0};
  const Found found = run_search(keys, {0, 0, 3, 3}, 2, 3);
  EXPECT_EQ(found.ids, (std::vector<int64_t>{0, 2, 3, 1, 2, 0}));
  EXPECT_EQ(found.distances, (std::vector<float>{0, 1, 1, 1, 13, 18}));
}

TEST(ExactSearch, EqualDistancesComeById) {
  std::vector<float> keys(600, 2.0F);
  keys[300] = 1.0F;
  const Found found = run_search(keys, {0}, 1, 5, 3);
  EXPECT_EQ(found.ids, (std::vector<int64_t>{300, 0, 1, 2, 3}));
  EXPECT_EQ(found.distances, (std::vector<float>{1, 4, 4, 4, 4}));
}

TEST(ExactSearch, FillsUpWithMissing) {
  const Found found = run_search({1, 5}, {0}, 1, 4);
  EXPECT_EQ(found.ids, (std::vector<int64_t>{0, 1, -1, -1}));
  EXPECT_EQ(found.distances, (std::vector<float>{1, 25, kInfinity, kInfinity}));
  EXPECT_EQ(run_search({}, {0}, 1, 1).ids, (std::vector<int64_t>{-1}));
}

TEST(ExactSearch, NothingAsked) {
  EXPECT_TRUE(run_search({1, 5}, {}, 1, 4).ids.empty());
  EXPECT_TRUE(run_search({1, 5}, {3}, 1, 0).ids.empty());
}

// Widths and row counts around the register width (16) and the key block (256).
TEST(ExactSearch, AgreesWithDoubleBruteForce) {
  for (const int64_t width : {1, 7, 15, 16, 17, 33, 384}) {
    for (const int64_t rows : {1, 3, 4, 5, 255, 256, 257, 1000}) {
      const auto keys = random_rows(rows, width, 1);
      const auto queries = random_rows(9, width, 2);
      const int64_t k = 5;
      const Found found = run_search(keys, queries, width, k, 2);
      for (size_t x = 0; x < 9; ++x) {
        const auto query =
            std::span(queries).subspan(x * static_cast<size_t>(width), static_cast<size_t>(width));
        const auto expected =
            testing::nearest_in_double(keys, query, 5, [](int64_t) { return true; });
        for (size_t i = 0; i < expected.size(); ++i) {
          const int64_t id = found.ids[x * 5 + i];
          ASSERT_GE(id, 0);
          const auto key =
              std::span(keys).subspan(static_cast<size_t>(id * width), static_cast<size_t>(width));
          const double tolerance = 1e-5 * expected[i].first;
          ASSERT_NEAR(double{found.distances[x * 5 + i]}, expected[i].first, tolerance);
          ASSERT_NEAR(testing::distance_in_double(key, query), expected[i].first, tolerance);
        }
      }
    }
  }
}

// |a|^2 + |b|^2 - 2ab would lose all digits here.
TEST(ExactSearch, NearDuplicatesKeepRelativePrecision) {
  const int64_t width = 384;
  auto key = random_rows(1, width, 3);
  for (float& value : key) value = 100 + value;
  auto query = key;
  for (size_t f = 0; f < query.size(); f += 2) query[f] += 1e-3F;
  const Found found = run_search(key, query, width, 1);
  const double expected = testing::distance_in_double(key, query);
  EXPECT_NEAR(double{found.distances[0]}, expected, 1e-5 * expected);
}

TEST(ExactSearch, BitsDoNotDependOnThreadsOrCompany) {
  const int64_t width = 37;
  const auto keys = random_rows(1500, width, 4);
  const auto queries = random_rows(21, width, 5);
  const Found one = run_search(keys, queries, width, 7, 1);
  for (const int threads : {2, 3, 16}) EXPECT_EQ(run_search(keys, queries, width, 7, threads), one);
  for (size_t x = 0; x < 21; ++x) {
    const auto begin = queries.begin() + static_cast<std::ptrdiff_t>(x) * width;
    const Found alone = run_search(keys, {begin, begin + width}, width, 7, 2);
    EXPECT_TRUE(std::ranges::equal(alone.distances, std::span(one.distances).subspan(x * 7, 7)));
    EXPECT_TRUE(std::ranges::equal(alone.ids, std::span(one.ids).subspan(x * 7, 7)));
  }
}

// More queries than one batch holds: the filter hears the query's own number.
TEST(ExactSearch, FilterIsAskedByQueryNumber) {
  std::vector<float> keys(2000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<float>(i);
  const std::vector<float> queries = keys;
  const Found found = run_search(keys, queries, 1, 1, 2, [](int64_t query, int64_t row) {
    return row > query || (query == 1999 && row == 0);
  });
  for (int64_t x = 0; x < 1999; ++x) ASSERT_EQ(found.ids[static_cast<size_t>(x)], x + 1);
  EXPECT_EQ(found.ids[1999], 0);
}

TEST(ExactSearch, AllFilteredIsAllMissing) {
  const Found found = run_search({1, 2, 3}, {0}, 1, 2, 1, [](int64_t, int64_t) { return false; });
  EXPECT_EQ(found.ids, (std::vector<int64_t>{-1, -1}));
}

TEST(ExactSearch, StreamedKeysGiveTheSame) {
  const int64_t width = 8;
  const auto keys = random_rows(700, width, 6);
  const auto queries = random_rows(3, width, 7);
  const KeySource source{700, width, [&](int64_t begin, int64_t end, std::span<float> rows) {
                           std::copy(keys.begin() + begin * width, keys.begin() + end * width,
                                     rows.begin());
                         }};
  Found streamed{std::vector<int64_t>(12), std::vector<float>(12)};
  exact_search(source, queries, 4, {}, 2, streamed.ids, streamed.distances);
  EXPECT_EQ(streamed, run_search(keys, queries, width, 4));
}

TEST(ExactSearch, SurvivesInfiniteDistances) {
  const Found found = run_search({1e30F, 1.0F}, {-1e30F, 0}, 1, 2);
  EXPECT_EQ(found.ids[0], 0) << "an overflowing distance is still a distance";
  EXPECT_EQ(found.distances[0], kInfinity);
  EXPECT_EQ(found.ids[2], 1);
}

TEST(ExactSearch, RefusesWrongSizes) {
  std::vector<int64_t> ids(1);
  std::vector<float> distances(1);
  const std::vector<float> keys(4);
  EXPECT_THROW(exact_search(keys, keys, 3, 1, {}, 1, ids, distances), Error);
  EXPECT_THROW(exact_search(keys, keys, 2, 1, {}, 1, ids, distances), Error);
  EXPECT_THROW(exact_search(keys, keys, 0, 1, {}, 1, ids, distances), Error);
}

}  // namespace
}  // namespace retro
