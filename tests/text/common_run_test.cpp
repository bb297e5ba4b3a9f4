#include "retro/text/common_run.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "run_oracle.h"

namespace retro {
namespace {

using testing::naive_longest_run;
using testing::Tokens;

/// By definition: the longest suffix of a[0..end] that occurs in b.
int32_t naive_run_ending_at(const Tokens& a, size_t end, const Tokens& b) {
  int32_t longest = 0;
  for (size_t begin = 0; begin <= end; ++begin) {
    const Tokens run(a.begin() + static_cast<int64_t>(begin),
                     a.begin() + static_cast<int64_t>(end) + 1);
    if (std::any_of(run.begin(), run.end(), [](int32_t id) { return id < 0; })) continue;
    if (std::search(b.begin(), b.end(), run.begin(), run.end()) != b.end()) {
      longest = std::max(longest, static_cast<int32_t>(run.size()));
    }
  }
  return longest;
}

Tokens random_tokens(size_t count, int32_t alphabet, double padding, std::mt19937& random) {
  Tokens tokens(count);
  for (int32_t& token : tokens) {
    token = static_cast<int32_t>(random() % static_cast<uint32_t>(alphabet)) * 1013;
    if (static_cast<double>(random() % 1000) < 1000 * padding) token = -1;
  }
  return tokens;
}

TEST(CommonRun, HandMadeCases) {
  EXPECT_EQ(RunMatcher(Tokens{1, 2, 3, 4}).longest_run(Tokens{9, 2, 3, 9}), 2);
  EXPECT_EQ(RunMatcher(Tokens{1, 2, 3, 4}).longest_run(Tokens{1, 2, 3, 4}), 4);
  EXPECT_EQ(RunMatcher(Tokens{1, 2, 3, 4}).longest_run(Tokens{4, 3, 2, 1}), 1);
  EXPECT_EQ(RunMatcher(Tokens{1, 2}).longest_run(Tokens{3, 4}), 0);
  EXPECT_EQ(RunMatcher(Tokens{7, 7, 7}).longest_run(Tokens{7, 7, 7, 7, 7}), 3);
  EXPECT_EQ(RunMatcher(Tokens{}).longest_run(Tokens{1}), 0);
  EXPECT_EQ(RunMatcher(Tokens{1}).longest_run(Tokens{}), 0);
}

TEST(CommonRun, PaddingNeverMatchesAndEndsRuns) {
  EXPECT_EQ(RunMatcher(Tokens{-1, -1, 5}).longest_run(Tokens{-1, -1, -1}), 0);
  EXPECT_EQ(RunMatcher(Tokens{1, 2, 3}).longest_run(Tokens{1, -1, 2, 3}), 2);
  EXPECT_EQ(RunMatcher(Tokens{1, -1, 2}).longest_run(Tokens{1, -1, 2}), 1);
}

TEST(CommonRun, EqualsTheDefinitionOnRandomTexts) {
  std::mt19937 random(3);
  for (const size_t chunk_length : {1u, 2u, 31u, 63u, 64u, 65u}) {
    for (int trial = 0; trial < 30; ++trial) {
      const Tokens chunk = random_tokens(chunk_length, 2 + trial % 5, 0.02, random);
      const Tokens text = random_tokens(1 + random() % 130, 2 + trial % 5, 0.05, random);
      RunMatcher matcher(chunk);
      EXPECT_EQ(matcher.longest_run(text), naive_longest_run(chunk, text));
    }
  }
}

TEST(CommonRun, EveryLengthOfACopyIsFound) {
  std::mt19937 random(5);
  Tokens chunk(64);
  for (size_t i = 0; i < chunk.size(); ++i) chunk[i] = static_cast<int32_t>(i) + 1;
  RunMatcher matcher(chunk);
  for (size_t length = 0; length <= 64; ++length) {
    Tokens text(128);
    for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<int32_t>(i) + 1000;
    const size_t from = random() % (65 - length);
    const size_t to = random() % (129 - length);
    std::copy_n(chunk.begin() + static_cast<int64_t>(from), length,
                text.begin() + static_cast<int64_t>(to));
    EXPECT_EQ(matcher.longest_run(text), static_cast<int64_t>(length));
  }
}

TEST(CommonRun, ChunksTooLongForOneByte) {
  Tokens chunk(70000);
  for (size_t i = 0; i < chunk.size(); ++i) chunk[i] = static_cast<int32_t>(i);
  const Tokens part(chunk.begin() + 100, chunk.begin() + 400);
  EXPECT_EQ(RunMatcher(std::span(chunk).first(300)).longest_run(part), 200);
  EXPECT_EQ(RunMatcher(chunk).longest_run(part), 300);
  const Tokens same(600, 4);
  EXPECT_EQ(RunMatcher(std::span(same).first(255)).longest_run(same), 255);
  EXPECT_EQ(RunMatcher(std::span(same).first(256)).longest_run(same), 256);
}

TEST(CommonRun, MarksEveryTokenByTheRunThatEndsThere) {
  const Tokens chunk = {1, 2, 3, 9, 2};
  const Tokens text = {2, 3, 4, 1, 2};
  std::vector<int32_t> chunk_runs(chunk.size(), 0);
  std::vector<int32_t> text_runs(text.size(), 77);
  RunMatcher(chunk).mark_runs(text, chunk_runs, text_runs);
  EXPECT_EQ(chunk_runs, (std::vector<int32_t>{1, 2, 2, 0, 1}));
  EXPECT_EQ(text_runs, (std::vector<int32_t>{1, 2, 0, 1, 2}));
}

TEST(CommonRun, MarksOfSeveralTextsAddUp) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 20; ++trial) {
    const Tokens chunk = random_tokens(17, 3, 0.05, random);
    RunMatcher matcher(chunk);
    std::vector<int32_t> runs(chunk.size(), 0);
    std::vector<int32_t> expected(chunk.size(), 0);
    for (int n = 0; n < 2; ++n) {
      const Tokens text = random_tokens(23, 3, 0.05, random);
      std::vector<int32_t> text_runs(text.size());
      matcher.mark_runs(text, runs, text_runs);
      for (size_t i = 0; i < chunk.size(); ++i) {
        expected[i] = std::max(expected[i], naive_run_ending_at(chunk, i, text));
      }
      for (size_t j = 0; j < text.size(); ++j)
        EXPECT_EQ(text_runs[j], naive_run_ending_at(text, j, chunk));
    }
    EXPECT_EQ(runs, expected);
  }
}

TEST(CommonRun, LevelsGrowWithTheRun) {
  const std::vector<std::pair<int64_t, int>> levels = {{0, 0}, {1, 0}, {2, 1},  {3, 1},  {4, 2},
                                                       {7, 2}, {8, 3}, {15, 3}, {16, 4}, {64, 4}};
  for (const auto& [run, level] : levels) EXPECT_EQ(run_level(run), level) << run;
}

}  // namespace
}  // namespace retro
