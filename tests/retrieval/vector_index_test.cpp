#include "retro/retrieval/vector_index.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "retro/core/error.h"
#include "retro/core/random.h"

#include "retrieval_test_support.h"

namespace retro {
namespace {

using testing::ScratchDirectory;

constexpr size_t kWidth = 16;

class VectorIndexTest : public ::testing::Test {
 protected:
  /// Rows around 50 centres.
  const ArrayFile& rows(size_t count) {
    ArrayHeader header;
    header.kind = "test rows";
    header.type = ArrayType::kFloat32;
    header.columns = kWidth;
    ArrayFileWriter writer(scratch_ / "rows", header);
    RandomStream random(1, "rows");
    for (size_t i = 0; i < count; ++i) {
      const std::vector<float> row = point(i % 50, random);
      values_.insert(values_.end(), row.begin(), row.end());
    }
    writer.append(std::span<const float>(values_));
    writer.commit();
    file_ = ArrayFile(scratch_ / "rows", {.kind = "test rows", .type = ArrayType::kFloat32});
    return file_;
  }
  static std::vector<float> point(size_t centre, RandomStream& random) {
    RandomStream place(2, "centre", centre);
    std::vector<float> row(kWidth);
    for (float& value : row) value = static_cast<float>(3 * place.normal() + 0.7 * random.normal());
    return row;
  }
  std::vector<float> queries(size_t count) const {
    RandomStream random(3, "queries");
    std::vector<float> result;
    for (size_t i = 0; i < count; ++i) {
      const std::vector<float> row = point(i * 7 % 50, random);
      result.insert(result.end(), row.begin(), row.end());
    }
    return result;
  }
  /// Squared distances of a query to all rows, ascending.
  std::vector<double> sorted_distances(const float* query) const {
    std::vector<double> distances;
    for (size_t row = 0; row * kWidth < values_.size(); ++row) {
      double distance = 0;
      for (size_t q = 0; q < kWidth; ++q) {
        const double difference = double{query[q]} - double{values_[row * kWidth + q]};
        distance += difference * difference;
      }
      distances.push_back(distance);
    }
    std::sort(distances.begin(), distances.end());
    return distances;
  }

  ScratchDirectory scratch_;
  std::vector<float> values_;
  ArrayFile file_;
};

TEST_F(VectorIndexTest, FewRowsAreSearchedExactly) {
  const VectorIndex index(rows(300), {}, 1, 2);
  EXPECT_TRUE(index.is_exact());
  EXPECT_EQ(index.name(), "exact");
  const auto asked = queries(20);
  std::vector<int64_t> ids(20 * 5);
  std::vector<float> distances(20 * 5);
  index.search(asked, 5, ids, distances, 2);
  for (size_t x = 0; x < 20; ++x) {
    const auto expected = sorted_distances(&asked[x * kWidth]);
    for (size_t rank = 0; rank < 5; ++rank)
      EXPECT_NEAR(double{distances[x * 5 + rank]}, expected[rank], 1e-5 * expected[rank]);
  }
}

TEST_F(VectorIndexTest, RerankedCandidatesAreNearlyAllTheNearest) {
  const VectorIndex index(rows(8000), {.num_lists = 40, .num_probes = 20}, 1, 2);
  EXPECT_EQ(index.name(), "ivf_pq, 40 lists, 20 probed, 8 codes of 8 bits");
  const auto asked = queries(100);
  std::vector<int64_t> candidates(100 * 40);
  std::vector<float> rounded(100 * 40);
  index.search(asked, 40, candidates, rounded, 2);
  std::vector<int64_t> ids(100 * 10);
  std::vector<float> distances(100 * 10);
  rerank(file_, asked, candidates, 10, ids, distances, 2);
  size_t num_found = 0;
  for (size_t x = 0; x < 100; ++x) {
    EXPECT_TRUE(std::is_sorted(rounded.begin() + static_cast<int64_t>(40 * x),
                               rounded.begin() + static_cast<int64_t>(40 * (x + 1))));
    const auto expected = sorted_distances(&asked[x * kWidth]);
    for (size_t rank = 0; rank < 10; ++rank) {
      // What is found has its exact distance.
      double distance = 0;
      for (size_t q = 0; q < kWidth; ++q) {
        const double difference =
            double{asked[x * kWidth + q]} -
            double{values_[static_cast<size_t>(ids[x * 10 + rank]) * kWidth + q]};
        distance += difference * difference;
      }
      EXPECT_NEAR(double{distances[x * 10 + rank]}, distance, 1e-5 * distance);
      num_found += distance <= expected[9] * (1 + 1e-6);
    }
  }
  EXPECT_GT(num_found, 950u);  // of 1,000
}

TEST_F(VectorIndexTest, MissingCandidatesStayMissing) {
  const auto asked = (rows(10), queries(1));
  std::vector<int64_t> ids(3);
  std::vector<float> distances(3);
  rerank(file_, asked, std::vector<int64_t>{-1, 4, -1}, 3, ids, distances, 1);
  EXPECT_EQ(ids, (std::vector<int64_t>{4, -1, -1}));
  EXPECT_EQ(distances[1], std::numeric_limits<float>::infinity());
}

TEST_F(VectorIndexTest, WidthsThatCodesDoNotDivideAreRefused) {
  EXPECT_THROW(VectorIndex(rows(10), {.code_width = 3}, 1, 1), Error);
}

}  // namespace
}  // namespace retro
