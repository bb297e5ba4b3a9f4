#include "retro/eval/filtered_bpb.h"

#include <cmath>
#include <numbers>
#include <numeric>

#include <gtest/gtest.h>

#include "retro/core/error.h"

namespace retro {
namespace {

/// Five chunks of three documents, worked out by hand.
class FilteredBpbTest : public ::testing::Test {
 protected:
  FilteredBpbTest() {
    facts_.document = {0, 0, 1, 2, 2};
    facts_.overlap = {8.0 / 64, 9.0 / 64, 0.5, 1.0, 3.0 / 10};
    reference_ = {{64, 60, 50, 40, 10}, {100, 90, 80, 70, 20}};
    system_ = {{63, 55, 50, 10, 11}, {100, 90, 80, 70, 20}};
  }
  ChunkFacts facts_;
  ChunkLosses reference_;
  ChunkLosses system_;
  std::vector<int64_t> rows_ = {0, 1, 2, 3, 4};
};

TEST_F(FilteredBpbTest, BoundsAreInclusive) {
  EXPECT_EQ(rows_within(facts_, rows_, 0.125), (std::vector<int64_t>{0}));
  EXPECT_EQ(rows_within(facts_, rows_, 0.3), (std::vector<int64_t>{0, 1, 4}));
  EXPECT_EQ(rows_within(facts_, rows_, 0.5), (std::vector<int64_t>{0, 1, 2, 4}));
  EXPECT_EQ(rows_within(facts_, rows_, 1.0), rows_);
  EXPECT_TRUE(rows_within(facts_, rows_, 0.0).empty());
}

TEST_F(FilteredBpbTest, SumsAreOverTheChunksKept) {
  const LossSum half = sum_losses(system_, rows_within(facts_, rows_, 0.5));
  EXPECT_EQ(half.nats, 63 + 55 + 50 + 11);
  EXPECT_EQ(half.bytes, 290);
  EXPECT_NEAR(half.bits_per_byte(), 179 / (std::numbers::ln2 * 290), 1e-15);
}

TEST_F(FilteredBpbTest, AnyPartitionSumsToTheWhole) {
  const LossSum whole = sum_losses(reference_, rows_);
  for (int mask = 0; mask < 32; ++mask) {
    std::vector<int64_t> in;
    std::vector<int64_t> out;
    for (const int64_t row : rows_) (mask >> row & 1 ? in : out).push_back(row);
    LossSum sum = sum_losses(reference_, in);
    sum += sum_losses(reference_, out);
    EXPECT_EQ(sum.nats, whole.nats);
    EXPECT_EQ(sum.bytes, whole.bytes);
    EXPECT_EQ(sum.chunks, whole.chunks);
  }
}

TEST_F(FilteredBpbTest, DifferencesArePairedByDocument) {
  EXPECT_EQ(count_documents(facts_, rows_), 3);
  EXPECT_EQ(count_documents(facts_, std::vector<int64_t>{1, 4}), 2);
  const std::vector<PairedLoss> documents = {{124, 118, 190}, {50, 50, 80}, {50, 21, 90}};
  const Interval expected = paired_bootstrap(documents, {});
  const Interval found = loss_difference(facts_, reference_, system_, rows_, {});
  EXPECT_NEAR(found.estimate, (6 + 0 + 29) / (std::numbers::ln2 * 360), 1e-15);
  EXPECT_EQ(found.low, expected.low);
  EXPECT_EQ(found.high, expected.high);
}

TEST_F(FilteredBpbTest, UnscoredChunksAndUnequalBytesAreErrors) {
  reference_.nats[2] = std::nan("");
  EXPECT_THROW(sum_losses(reference_, rows_), Error);
  system_.bytes[0] = 99;
  EXPECT_THROW(loss_difference(facts_, reference_, system_, rows_, {}), Error);
}

}  // namespace
}  // namespace retro
