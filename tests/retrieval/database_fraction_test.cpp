// Retrieval limited to a share of the database's documents.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "retro/retrieval/neighbour_filter.h"

#include "table_test_support.h"

namespace retro {
namespace {

using testing::database_and_held_out;
using testing::TableFixture;

TEST(DatabaseFraction, LargerSharesHoldSmallerOnes) {
  TableFixture fixture(database_and_held_out(2000, 10));
  const int64_t documents = fixture.database().num_documents();
  ASSERT_GT(documents, 300);
  std::vector<uint8_t> smaller(static_cast<size_t>(documents), 0);
  for (const double fraction : {0.1, 0.5, 1.0}) {
    const auto kept = documents_of_fraction(fixture.database(), fraction);
    ASSERT_EQ(kept.size(), smaller.size());
    for (size_t d = 0; d < kept.size(); ++d) EXPECT_GE(kept[d], smaller[d]);
    const auto share = static_cast<double>(std::count(kept.begin(), kept.end(), 1)) /
                       static_cast<double>(documents);
    // Four standard deviations of a draw of 300.
    EXPECT_NEAR(share, fraction, 4 * std::sqrt(fraction * (1 - fraction) / 300) + 1e-12);
    smaller = kept;
  }
}

/// The table of a share is what an exact search over that share's keys finds.
class FractionTable : public ::testing::TestWithParam<std::string> {};

TEST_P(FractionTable, IsTheTableOfTheSmallerDatabase) {
  TableFixture fixture(database_and_held_out(1500, 40), 4, GetParam());
  const ChunkGrid grid = fixture.held_out_grid();
  const GridKeys keys = fixture.keys(grid);
  const auto path = fixture.directory("fraction");
  build_neighbour_table(grid, keys, fixture.index(), Exclusion::kDocument, 5, 2, path, 0.3);
  const NeighbourTable table(path, fixture.database().version(), grid.hash());
  const RetrievalDatabase& database = fixture.database();
  const auto kept = documents_of_fraction(database, 0.3);
  std::vector<int64_t> chunks;
  std::vector<float> kept_keys;
  const auto width = static_cast<size_t>(database.key_width());
  std::vector<float> key(width);
  for (int64_t chunk = 0; chunk < database.num_chunks(); ++chunk) {
    if (kept[static_cast<size_t>(database.document_of(chunk))] == 0 || !database.has_key(chunk))
      continue;
    database.copy_keys(chunk, chunk + 1, key);
    kept_keys.insert(kept_keys.end(), key.begin(), key.end());
    chunks.push_back(chunk);
  }
  for (int64_t row = 0; row < grid.num_rows(); ++row) {
    if (keys.has_key.values<uint8_t>()[static_cast<size_t>(row)] == 0) continue;
    std::vector<double> expected;
    const auto query = keys.keys.row<float>(static_cast<uint64_t>(row));
    for (size_t i = 0; i < chunks.size(); ++i) {
      double distance = 0;
      for (size_t q = 0; q < width; ++q) {
        const double difference = double{query[q]} - double{kept_keys[i * width + q]};
        distance += difference * difference;
      }
      expected.push_back(distance);
    }
    std::sort(expected.begin(), expected.end());
    for (size_t rank = 0; rank < 5; ++rank) {
      const int64_t id = table.ids(row)[rank];
      ASSERT_TRUE(std::binary_search(chunks.begin(), chunks.end(), id));
      EXPECT_NEAR(double{table.distances(row)[rank]}, expected[rank], 1e-5 * (1 + expected[rank]));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Indexes, FractionTable, ::testing::Values("exact"));

}  // namespace
}  // namespace retro
