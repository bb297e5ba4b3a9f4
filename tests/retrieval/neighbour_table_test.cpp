#include "retro/retrieval/neighbour_table.h"

#include <vector>

#include <gtest/gtest.h>

#include "retro/core/error.h"

#include "table_test_support.h"

namespace retro {
namespace {

using testing::TableFixture;

TEST(NeighbourTable, HoldsTheNearestOfOtherDocuments) {
  TableFixture fixture(testing::database_and_held_out(300, 40));
  const ChunkGrid& grid = fixture.database_grid();
  fixture.build(grid, 5);
  const NeighbourTable table = fixture.open(grid);
  ASSERT_EQ(table.num_rows(), 300);
  ASSERT_EQ(table.num_neighbours(), 5);
  const auto keys = testing::all_keys(fixture.database());
  for (int64_t row = 0; row < 300; ++row) {
    // Rows of this grid are the database's chunks, six a document.
    const auto query = std::span(keys).subspan(static_cast<size_t>(row) * 12, 12);
    const auto expected =
        testing::nearest_in_double(keys, query, 5, [&](int64_t id) { return id / 6 != row / 6; });
    for (size_t i = 0; i < 5; ++i) {
      ASSERT_EQ(table.ids(row)[i], expected[i].second);
      ASSERT_NEAR(double{table.distances(row)[i]}, expected[i].first, 1e-5 * expected[i].first);
    }
  }
}

TEST(NeighbourTable, HeldOutDocumentsExcludeNothing) {
  TableFixture fixture(testing::database_and_held_out(120, 23));
  const ChunkGrid grid = fixture.held_out_grid();
  fixture.build(grid, 3);
  const NeighbourTable table = fixture.open(grid);
  const auto keys = testing::all_keys(fixture.database());
  const GridKeys own = fixture.keys(grid, "table_keys");
  for (int64_t row = 0; row < 23; ++row) {
    const auto expected = testing::nearest_in_double(
        keys, own.keys.row<float>(static_cast<uint64_t>(row)), 3, [](int64_t) { return true; });
    for (size_t i = 0; i < 3; ++i) ASSERT_EQ(table.ids(row)[i], expected[i].second);
  }
}

TEST(NeighbourTable, ACopyInAnotherDocumentIsFoundAtDistanceZero) {
  TableFixture fixture({{"db", "1", "abcdefgh"}, {"db", "2", "ijklabcd"}, {"held", "3", "abcd"}});
  fixture.build(fixture.database_grid(), 3);
  const NeighbourTable table = fixture.open(fixture.database_grid());
  EXPECT_EQ(table.ids(0)[0], 3);
  EXPECT_EQ(table.distances(0)[0], 0.0F);
  EXPECT_EQ(table.ids(3)[0], 0);
  const ChunkGrid held_out = fixture.held_out_grid();
  fixture.build(held_out, 3, "held");
  const NeighbourTable held = fixture.open(held_out, "held");
  EXPECT_EQ(held.ids(0)[0], 0) << "ties by id";
  EXPECT_EQ(held.ids(0)[1], 3);
  EXPECT_EQ(held.distances(0)[1], 0.0F);
}

TEST(NeighbourTable, KLargerThanTheDatabaseWarnsAndLeavesTheRestMissing) {
  TableFixture fixture({{"db", "1", "abcdefgh"}, {"db", "2", "ijkl"}});
  ::testing::internal::CaptureStderr();
  fixture.build(fixture.database_grid(), 7);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ::testing::HasSubstr("7 neighbours are asked for, the database has 3"));
  const NeighbourTable table = fixture.open(fixture.database_grid());
  EXPECT_EQ(table.ids(0)[0], 2);
  EXPECT_EQ(table.ids(0)[1], kMissing);
  EXPECT_EQ(table.ids(2)[1], 1 - table.ids(2)[0]) << "both chunks of the other document";
  EXPECT_EQ(table.ids(2)[2], kMissing);
}

TEST(NeighbourTable, AChunkWithoutAKeyHasNoNeighbours) {
  TableFixture fixture({{"db", "1", "abcd    efgh"}, {"db", "2", "ijklmnop"}});
  const NeighbourTableSummary summary = fixture.build(fixture.database_grid(), 2);
  const NeighbourTable table = fixture.open(fixture.database_grid());
  EXPECT_TRUE(std::ranges::equal(table.ids(1), std::vector<int64_t>{-1, -1}));
  EXPECT_EQ(table.distances(1)[0], std::numeric_limits<float>::infinity());
  for (const int64_t row : {0, 2, 3, 4}) {
    for (const int64_t id : table.ids(row)) EXPECT_TRUE(id != kMissing && id != 1);
  }
  EXPECT_EQ(summary.queries_issued, 4);
}

TEST(NeighbourTable, SummaryByHand) {
  // db/1 has two chunks, one without a key; held/x equals a chunk of db/2 and has a spaces-only
  // chunk.
  TableFixture fixture({{"db", "1", "abcd    "}, {"db", "2", "ijkl"}, {"held", "x", "ijkl    "}});
  const NeighbourTableSummary own = fixture.build(fixture.database_grid(), 2, "own");
  EXPECT_EQ(own.num_rows, 3);
  EXPECT_EQ(own.queries_issued, 2);
  EXPECT_DOUBLE_EQ(own.share_with_neighbour, 2.0 / 3);
  EXPECT_DOUBLE_EQ(own.share_short, 1.0) << "one other document of one chunk, k = 2";
  EXPECT_DOUBLE_EQ(own.share_same_source, 1.0);
  const NeighbourTable table = fixture.open(fixture.database_grid(), "own");
  EXPECT_NEAR(own.mean_distance, double{table.distances(0)[0]}, 1e-12) << "the pair is symmetric";
  const ChunkGrid held_out = fixture.held_out_grid();
  const NeighbourTableSummary held = fixture.build(held_out, 2, "held");
  EXPECT_EQ(held.num_rows, 2);
  EXPECT_EQ(held.queries_issued, 1);
  EXPECT_DOUBLE_EQ(held.share_with_neighbour, 0.5);
  EXPECT_DOUBLE_EQ(held.share_short, 0.5);
  EXPECT_DOUBLE_EQ(held.mean_distance, 0.0);
  EXPECT_DOUBLE_EQ(held.share_same_source, 0.0);
  EXPECT_EQ(fixture.open(held_out, "held").summary().share_short, 0.5) << "stored";
}

TEST(NeighbourTable, GroupExclusion) {
  TableFixture fixture({{"db", "1", "abcd", "work"},
                        {"db", "2", "abcd", "work"},
                        {"db", "3", "efgh"},
                        {"held", "4", "abcd", "work"}});
  const ChunkGrid held_out = fixture.held_out_grid();
  fixture.build(held_out, 3, "document");
  EXPECT_EQ(fixture.open(held_out, "document").ids(0)[0], 0);
  fixture.build(held_out, 3, "group", 1, Exclusion::kGroup);
  EXPECT_TRUE(
      std::ranges::equal(fixture.open(held_out, "group").ids(0), std::vector<int64_t>{2, -1, -1}));
  fixture.build(fixture.database_grid(), 1, "leaked", 1, Exclusion::kNone);
  EXPECT_EQ(fixture.open(fixture.database_grid(), "leaked").ids(2)[0], 2) << "the chunk itself";
}

TEST(NeighbourTable, ThreadsChangeNothing) {
  for (const std::string type : {"exact", "ivf_flat", "ivf_pq"}) {
    TableFixture fixture(testing::database_and_held_out(900, 10), 4, type);
    fixture.build(fixture.database_grid(), 4, "one", 1);
    fixture.build(fixture.database_grid(), 4, "three", 3);
    EXPECT_EQ(testing::tree_of(fixture.directory("one")),
              testing::tree_of(fixture.directory("three")))
        << type;
  }
}

TEST(NeighbourTable, NoRowsAreATableOfNoRows) {
  TableFixture fixture({{"db", "1", "abcd"}});
  const ChunkGrid nothing = fixture.held_out_grid();
  const NeighbourTableSummary summary = fixture.build(nothing, 2);
  EXPECT_EQ(summary.num_rows, 0);
  EXPECT_EQ(summary.share_with_neighbour, 0);
  EXPECT_EQ(fixture.open(nothing).num_rows(), 0);
}

TEST(NeighbourTable, ZeroNeighboursAreRefused) {
  TableFixture fixture({{"db", "1", "abcd"}});
  EXPECT_THROW(fixture.build(fixture.database_grid(), 0), Error);
}

}  // namespace
}  // namespace retro
