#include "retro/data/data_loader.h"

#include <atomic>
#include <chrono>

#include <gtest/gtest.h>

#include "retro/core/error.h"

namespace retro {
namespace {

/// A batch that carries its number.
Batch numbered(int64_t index) {
  Batch batch;
  batch.num_targets = index;
  return batch;
}

class WithThreads : public ::testing::TestWithParam<int> {};

TEST_P(WithThreads, BatchesComeInOrder) {
  DataLoader loader(
      [](int64_t index) {
        // Later batches are often ready first.
        std::this_thread::sleep_for(std::chrono::microseconds((index * 37) % 500));
        return numbered(index);
      },
      {.first = 5, .count = 200, .num_threads = GetParam(), .depth = 7});
  for (int64_t i = 5; i < 205; ++i) {
    ASSERT_TRUE(loader.has_next());
    EXPECT_EQ(loader.next().num_targets, i);
  }
  EXPECT_FALSE(loader.has_next());
  EXPECT_THROW(loader.next(), Error);
}

TEST_P(WithThreads, AnExceptionArrivesWithItsBatch) {
  DataLoader loader(
      [](int64_t index) {
        if (index == 3) throw Error("batch 3 is broken");
        return numbered(index);
      },
      {.count = 6, .num_threads = GetParam()});
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(loader.next().num_targets, i);
  EXPECT_THROW(loader.next(), Error);
  EXPECT_EQ(loader.next().num_targets, 4);
}

TEST_P(WithThreads, EndsWhileBatchesAreLeft) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    DataLoader loader(numbered, {.num_threads = GetParam()});
    EXPECT_EQ(loader.next().num_targets, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, WithThreads, ::testing::Values(0, 1, 4));

TEST(DataLoader, PreparesAtMostDepthBatchesAhead) {
  std::atomic<int64_t> highest{-1};
  DataLoader loader(
      [&](int64_t index) {
        int64_t seen = highest;
        while (seen < index && !highest.compare_exchange_weak(seen, index)) {
        }
        return numbered(index);
      },
      {.num_threads = 3, .depth = 4});
  for (int64_t i = 0; i < 50; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    EXPECT_LE(highest.load(), i + 3);
    loader.next();
  }
}

}  // namespace
}  // namespace retro
