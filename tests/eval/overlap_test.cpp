#include "retro/eval/overlap.h"

#include <gtest/gtest.h>

#include "retro/core/error.h"

#include "data_layer/tiny_corpus.h"
#include "data_layer/tiny_database.h"

namespace retro {
namespace {

using testing::TemporaryDirectory;
using testing::TinyCorpus;
using testing::TinyDatabase;
using testing::TinySource;

constexpr int64_t kOverlapChunkLength = 8;

class OverlapTest : public ::testing::Test {
 protected:
  // Evaluated: one whole chunk and a short one of 3. Database: the first chunk's words differ in
  // one letter, and the run "cat sat " goes from N into F.
  OverlapTest()
      : evaluated_(std::vector<TinySource>{{"evaluated", {"the cat sat", "    "}}}),
        stored_(std::vector<TinySource>{{"stored", {"yy the cat sat on", "qqqq qqqq"}}}),
        grid_(evaluated_.grid(kOverlapChunkLength)),
        database_(stored_.grid(kOverlapChunkLength), directory_.path()) {}

  TemporaryDirectory directory_;
  TinyCorpus evaluated_;
  TinyCorpus stored_;
  ChunkGrid grid_;
  TinyDatabase database_;
};

TEST_F(OverlapTest, LongestRunOverAllNeighboursMayCrossIntoTheContinuation) {
  const NeighbourTable table = database_.table(grid_, Exclusion::kDocument, 5, "table");
  const auto overlaps = chunk_overlaps(grid_, table, database_.database(), 5, 1);
  ASSERT_EQ(overlaps.size(), 3u);
  // "the cat " stands in "yy the c" + "at sat o".
  EXPECT_EQ(overlaps[0].longest_run, 8);
  EXPECT_EQ(overlaps[0].length, 8);
  EXPECT_EQ(overlaps[0].ratio(), 1.0);
  // "sat" stands in "at sat o".
  EXPECT_EQ(overlaps[1].longest_run, 3);
  EXPECT_EQ(overlaps[1].length, 3);
  EXPECT_EQ(overlaps[1].ratio(), 1.0);
}

TEST_F(OverlapTest, AChunkWithoutAKeyHasNoNeighbour) {
  const NeighbourTable table = database_.table(grid_, Exclusion::kDocument, 2, "table");
  const ChunkOverlap overlap = chunk_overlap(grid_, table, database_.database(), 2, 2);
  EXPECT_FALSE(overlap.has_neighbour);
  EXPECT_EQ(overlap.longest_run, 0);
  EXPECT_EQ(overlap.ratio(), 0.0);
}

TEST_F(OverlapTest, OnlyTheFirstNeighboursCount) {
  const NeighbourTable table = database_.table(grid_, Exclusion::kDocument, 5, "table");
  for (int64_t k = 1; k <= 5; ++k) {
    int64_t longest = 0;
    for (int64_t rank = 0; rank < k; ++rank) {
      const int64_t id = table.ids(0)[static_cast<size_t>(rank)];
      if (id == kMissing) continue;
      std::vector<int32_t> value(2 * kOverlapChunkLength);
      database_.database().copy_value(id, value);
      const std::string text(value.begin(), std::find(value.begin(), value.end(), -1));
      for (size_t length = 1; length <= 8; ++length) {
        for (size_t begin = 0; begin + length <= 8; ++begin) {
          if (text.find(std::string("the cat ").substr(begin, length)) != std::string::npos) {
            longest = std::max<int64_t>(longest, static_cast<int64_t>(length));
          }
        }
      }
    }
    EXPECT_EQ(chunk_overlap(grid_, table, database_.database(), 0, k).longest_run, longest) << k;
  }
}

TEST_F(OverlapTest, ThreadsChangeNothing) {
  const NeighbourTable table = database_.table(grid_, Exclusion::kDocument, 3, "table");
  const auto one = chunk_overlaps(grid_, table, database_.database(), 3, 1);
  const auto four = chunk_overlaps(grid_, table, database_.database(), 3, 4);
  for (size_t row = 0; row < one.size(); ++row) {
    EXPECT_EQ(one[row].longest_run, four[row].longest_run);
    EXPECT_EQ(one[row].nearest_distance, four[row].nearest_distance);
  }
}

TEST_F(OverlapTest, MoreNeighboursThanStoredIsAnError) {
  const NeighbourTable table = database_.table(grid_, Exclusion::kDocument, 3, "table");
  EXPECT_THROW(chunk_overlaps(grid_, table, database_.database(), 4, 1), Error);
}

}  // namespace
}  // namespace retro
