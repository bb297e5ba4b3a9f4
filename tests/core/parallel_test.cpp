#include "retro/core/parallel.h"

#include <atomic>
#include <cstdint>
#include <limits>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>

#include "core/test_support.h"

namespace retro {
namespace {

TEST(ParallelFor, CoversEveryIndexOnce) {
  for (const int64_t count : {0, 1, 2, 7, 8, 9, 31, 32, 33, 1000}) {
    for (const int threads : {0, 1, 2, 3, 16}) {
      for (const int64_t block : {0, 1, 5, 2000}) {
        std::vector<std::atomic<int>> visits(static_cast<size_t>(count));
        parallel_for(
            count, threads,
            [&](int64_t begin, int64_t end) {
              EXPECT_LT(begin, end);
              for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
            },
            block);
        for (const auto& visit : visits) EXPECT_EQ(visit, 1);
      }
    }
  }
}

TEST(ParallelFor, BlocksHaveTheSizeAskedFor) {
  std::atomic<int> num_blocks{0};
  parallel_for(
      10, 2,
      [&](int64_t begin, int64_t end) {
        EXPECT_EQ(begin % 4, 0);
        EXPECT_EQ(end, std::min<int64_t>(begin + 4, 10));
        ++num_blocks;
      },
      4);
  EXPECT_EQ(num_blocks, 3);
}

TEST(ParallelFor, OneThreadIsTheCallerInOrder) {
  const auto caller = std::this_thread::get_id();
  std::vector<int64_t> begins;
  parallel_for(
      100, 1,
      [&](int64_t begin, int64_t) {
        EXPECT_EQ(std::this_thread::get_id(), caller);
        begins.push_back(begin);
      },
      10);
  EXPECT_EQ(begins, (std::vector<int64_t>{0, 10, 20, 30, 40, 50, 60, 70, 80, 90}));
}

// Each body waits until the other one runs as well: only possible on two threads at once.
TEST(ParallelFor, RunsAtTheSameTime) {
  std::atomic<int> arrived{0};
  parallel_for(
      2, 2,
      [&](int64_t, int64_t) {
        ++arrived;
        while (arrived < 2) std::this_thread::yield();
      },
      1);
  EXPECT_EQ(arrived, 2);
}

TEST(ParallelFor, ExceptionReachesTheCallerAndStopsTheRest) {
  std::atomic<int64_t> num_blocks{0};
  EXPECT_THROW(parallel_for(
                   1'000'000, 2,
                   [&](int64_t begin, int64_t) {
                     ++num_blocks;
                     if (begin == 3) throw std::out_of_range("injected");
                   },
                   1),
               std::out_of_range);
  EXPECT_LT(num_blocks, 1'000'000);
}

TEST(ParallelFor, HugeCountsDoNotOverflow) {
  const int64_t count = std::numeric_limits<int64_t>::max();
  std::atomic<int64_t> total{0};
  parallel_for(count, 3, [&](int64_t begin, int64_t end) { total += end - begin; });
  EXPECT_EQ(total, count);
  total = 0;
  parallel_for(
      count, 3, [&](int64_t begin, int64_t end) { total += end - begin; }, count - 1);
  EXPECT_EQ(total, count);
}

TEST(ParallelFor, NegativeThreadsAreAnError) {
  EXPECT_NE(testing::error_of([] { parallel_for(1, -1, [](int64_t, int64_t) {}); }), "");
}

TEST(DefaultThreadCount, FollowsTheAffinityMask) {
  EXPECT_GE(default_thread_count(), 1);
  const int status = testing::run_in_child([] {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    ::sched_getaffinity(0, sizeof allowed, &allowed);
    int first = 0;
    while (!CPU_ISSET(first, &allowed)) ++first;
    CPU_ZERO(&allowed);
    CPU_SET(first, &allowed);
    ::sched_setaffinity(0, sizeof allowed, &allowed);
    if (default_thread_count() != 1) throw std::runtime_error("more threads than processors");
  });
  EXPECT_TRUE(testing::ended_well(status));
}

}  // namespace
}  // namespace retro
