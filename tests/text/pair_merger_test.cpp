#include "pair_merger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/random.h"

namespace retro {
namespace {

using ::testing::ElementsAre;

TEST(MergeTable, FindsWhatWasAdded) {
  MergeTable merges(3);
  merges.add(1, 2, {0, 10});
  merges.add(2, 1, {1, 11});
  merges.add(1, 2, {2, 12});  // the last of equal pairs counts
  EXPECT_EQ(merges.find(1, 2).id, 12);
  EXPECT_EQ(merges.find(2, 1).rank, 1);
  EXPECT_EQ(merges.find(1, 1).rank, MergeTable::kNone);
  EXPECT_EQ(MergeTable(0).find(0, 0).rank, MergeTable::kNone);
}

TEST(PairMerger, LeftmostOfEqualPairsFirst) {
  MergeTable merges(1);
  merges.add(0, 0, {0, 1});
  for (const auto merge : {merge_by_scanning, merge_by_queue}) {
    std::vector<int32_t> ids = {0, 0, 0, 0, 0};
    merge(merges, ids);
    EXPECT_THAT(ids, ElementsAre(1, 1, 0));
    ids.clear();
    merge(merges, ids);
    EXPECT_TRUE(ids.empty());
  }
}

TEST(PairMerger, BothWaysGiveTheSame) {
  RandomStream random(3, "merges", 0);
  for (int round = 0; round < 300; ++round) {
    // Pieces of an alphabet of three, each joined from two earlier ones.
    MergeTable merges(40);
    for (int32_t id = 3; id < 43; ++id) {
      const auto count = static_cast<uint64_t>(id);
      merges.add(static_cast<int32_t>(random.below(count)),
                 static_cast<int32_t>(random.below(count)), {id - 3, id});
    }
    std::vector<int32_t> scanned(random.below(120));
    for (int32_t& id : scanned) id = static_cast<int32_t>(random.below(3));
    std::vector<int32_t> queued = scanned;
    merge_by_scanning(merges, scanned);
    merge_by_queue(merges, queued);
    ASSERT_EQ(scanned, queued);
  }
}

}  // namespace
}  // namespace retro
