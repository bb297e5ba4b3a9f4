#include "retro/data/neighbour_source.h"

#include <cmath>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "retro/core/error.h"

#include "data_layer/tiny_corpus.h"
#include "data_layer/tiny_database.h"

namespace retro {
namespace {

using testing::ByteTokenizer;
using testing::TemporaryDirectory;
using testing::TinyCorpus;
using testing::TinyDatabase;

constexpr int64_t kSourceChunkLength = 4;

/// A value as text, '.' for padding: "abcdef.." is N = abcd, F = ef.
std::string value_text(std::span<const int32_t> value_R) {
  std::string out;
  for (const int32_t id : value_R) out += id < 0 ? '.' : static_cast<char>(id);
  return out;
}

std::vector<std::string> values_of(const NeighbourSource& source, int64_t row, int64_t k) {
  constexpr int64_t kRetrieved = 2 * kSourceChunkLength;
  std::vector<int32_t> values(static_cast<size_t>(k * kRetrieved), 7);
  source.copy_values(row, k, values);
  std::vector<std::string> out;
  for (int64_t rank = 0; rank < k; ++rank) {
    out.push_back(
        value_text(std::span(values).subspan(static_cast<size_t>(rank * kRetrieved), kRetrieved)));
  }
  return out;
}

class NeighbourSourceTest : public ::testing::Test {
 protected:
  NeighbourSourceTest()
      // Rows: abcd 0, efgh 1 | abcd 2, wx 3 | four spaces 4, mnop 5, qrst 6.
      : corpus_(TinyCorpus::of({"abcdefgh", "abcdwx", "    mnopqrst"})),
        grid_(corpus_.grid(kSourceChunkLength)),
        database_(grid_, directory_.path()) {}

  TemporaryDirectory directory_;
  TinyCorpus corpus_;
  ChunkGrid grid_;
  TinyDatabase database_;
};

TEST_F(NeighbourSourceTest, TableGivesValuesByRank) {
  const NeighbourTable table = database_.table(grid_, Exclusion::kDocument, 2, "table");
  const TableNeighbours source(table, database_.database());
  EXPECT_EQ(values_of(source, 0, 1), std::vector<std::string>{"abcdwx.."});
  EXPECT_EQ(values_of(source, 2, 1), std::vector<std::string>{"abcdefgh"});
  const auto two = values_of(source, 2, 2);
  EXPECT_EQ(two[0], "abcdefgh");
  EXPECT_NE(two[1], two[0]);
  EXPECT_EQ(source.name(), "on");
}

TEST_F(NeighbourSourceTest, TableRefusesMoreRanksThanStored) {
  const NeighbourTable table = database_.table(grid_, Exclusion::kDocument, 2, "table");
  const TableNeighbours source(table, database_.database());
  EXPECT_THROW(values_of(source, 0, 3), Error);
}

TEST_F(NeighbourSourceTest, AChunkWithoutAKeyHasMissingNeighbours) {
  const NeighbourTable table = database_.table(grid_, Exclusion::kDocument, 1, "table");
  const TableNeighbours source(table, database_.database());
  EXPECT_EQ(values_of(source, 4, 1), std::vector<std::string>{"........"});
}

TEST_F(NeighbourSourceTest, RandomNeighboursAreDistinctAndNeverOfTheOwnDocument) {
  // What a chunk of the third document may see: the rest; the spaces have no key.
  const std::set<std::string> others = {"abcdefgh", "efgh....", "abcdwx..", "wx......"};
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const RandomNeighbours source(grid_, database_.database(), seed);
    const auto values = values_of(source, 5, 4);
    EXPECT_EQ(std::set<std::string>(values.begin(), values.end()), others);
    const auto first = values_of(source, 0, 4);
    const std::set<std::string> expected = {"abcdwx..", "wx......", "mnopqrst", "qrst...."};
    EXPECT_EQ(std::set<std::string>(first.begin(), first.end()), expected);
  }
}

TEST_F(NeighbourSourceTest, RandomNeighboursBeyondTheDatabaseAreMissing) {
  const RandomNeighbours source(grid_, database_.database(), 3);
  const auto values = values_of(source, 0, 6);
  EXPECT_EQ(values[4], "........");
  EXPECT_EQ(values[5], "........");
}

TEST_F(NeighbourSourceTest, RandomNeighboursAreSeededByRowAndUniform) {
  const RandomNeighbours source(grid_, database_.database(), 3);
  EXPECT_EQ(values_of(source, 0, 3),
            values_of(RandomNeighbours(grid_, database_.database(), 3), 0, 3));
  constexpr int64_t kSeeds = 4000;
  std::map<std::string, int64_t> counts;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    ++counts[values_of(RandomNeighbours(grid_, database_.database(), seed), 0, 1)[0]];
  }
  ASSERT_EQ(counts.size(), 4U);
  for (const auto& [value, count] : counts) {
    // Five standard deviations of a binomial count of share 1/4.
    EXPECT_NEAR(static_cast<double>(count), kSeeds / 4.0, 5.0 * std::sqrt(kSeeds * 3.0 / 16.0));
  }
}

// A training reads a chunk once in each epoch, as part of another sequence.
TEST_F(NeighbourSourceTest, RandomNeighboursAreDrawnAnewForEverySequence) {
  const RandomNeighbours source(grid_, database_.database(), 3);
  const auto drawn = [](const RandomNeighbours& from, int64_t sequence) {
    std::vector<int32_t> values(2 * kSourceChunkLength);
    from.copy_values_anew(0, sequence, 1, values);
    return value_text(values);
  };
  constexpr int64_t kSequences = 4000;
  std::map<std::string, int64_t> counts;
  const RandomNeighbours again(grid_, database_.database(), 3);
  for (int64_t sequence = 0; sequence < kSequences; ++sequence) {
    ++counts[drawn(source, sequence)];
    EXPECT_EQ(drawn(source, sequence), drawn(again, sequence));
  }
  ASSERT_EQ(counts.size(), 4U) << "every chunk of the other documents";
  for (const auto& [value, count] : counts) {
    // Five standard deviations of a binomial count of share 1/4.
    EXPECT_NEAR(static_cast<double>(count), kSequences / 4.0,
                5.0 * std::sqrt(kSequences * 3.0 / 16.0));
  }
}

TEST_F(NeighbourSourceTest, LeakedShowsTheChunkItselfOnceThenTheTable) {
  const NeighbourTable table = database_.table(grid_, Exclusion::kNone, 3, "leaky");
  const LeakedNeighbours source(grid_, table, database_.database());
  const auto values = values_of(source, 0, 3);
  EXPECT_EQ(values[0], "abcdefgh");
  EXPECT_EQ(values[1], "abcdwx..");
  EXPECT_NE(values[2], values[0]);
  EXPECT_NE(values[2], values[1]);
  EXPECT_EQ(values_of(source, 3, 1), std::vector<std::string>{"wx......"});
  EXPECT_EQ(source.name(), "leaked");
}

TEST_F(NeighbourSourceTest, LeakedFillsUpWithMissing) {
  const NeighbourTable table = database_.table(grid_, Exclusion::kNone, 1, "one");
  const LeakedNeighbours source(grid_, table, database_.database());
  // The table's only neighbour of row 1 is that chunk itself.
  EXPECT_EQ(values_of(source, 1, 2), (std::vector<std::string>{"efgh....", "........"}));
}

TEST(OwnValue, IsTheChunkWithItsTrueContinuation) {
  const TinyCorpus corpus = TinyCorpus::of({"ab", "nopqrstuvw"});
  const ChunkGrid grid = corpus.grid(kSourceChunkLength);
  const auto own = [&grid](int64_t row, int64_t jitter) {
    std::vector<int32_t> value(2 * kSourceChunkLength, 7);
    copy_own_value(grid, row, jitter, value);
    return value_text(value);
  };
  EXPECT_EQ(own(0, 0), "ab......");
  EXPECT_EQ(own(1, 0), "nopqrstu");
  EXPECT_EQ(own(2, 0), "rstuvw..");
  EXPECT_EQ(own(3, 0), "vw......");
}

TEST(OwnValue, IsCutAgainWithinItsDocument) {
  const TinyCorpus corpus = TinyCorpus::of({"ab", "nopqrstuvw"});
  const ChunkGrid grid = corpus.grid(kSourceChunkLength);
  const auto own = [&grid](int64_t row, int64_t jitter) {
    std::vector<int32_t> value(2 * kSourceChunkLength, 7);
    copy_own_value(grid, row, jitter, value);
    return value_text(value);
  };
  EXPECT_EQ(own(1, 1), "opqrstuv");
  EXPECT_EQ(own(2, -2), "pqrstuvw");
  EXPECT_EQ(own(2, 1), "stuvw...");
  EXPECT_EQ(own(2, 3), "uvw.....");
  EXPECT_EQ(own(3, -1), "uvw.....");
  EXPECT_EQ(own(3, -3), "stuvw...");
  // At the document's ends the offset is shortened; no token of another document appears.
  EXPECT_EQ(own(1, -3), "nopqrstu");
  EXPECT_EQ(own(2, -9), "nopqrstu");
  EXPECT_EQ(own(3, 4), "w.......");
  EXPECT_EQ(own(0, 1), "b.......");
  EXPECT_EQ(own(0, -1), "ab......");
}

TEST(OwnValue, KeepsTheShortFirstChunkOfAShiftedGrid) {
  const TinyCorpus corpus = TinyCorpus::of({"nopqrstuvw"});
  const ChunkGrid grid = corpus.grid(kSourceChunkLength, 1);
  std::vector<int32_t> value(2 * kSourceChunkLength, 7);
  copy_own_value(grid, 0, 0, value);
  EXPECT_EQ(value_text(value), "nop.qrst");
}

}  // namespace
}  // namespace retro
