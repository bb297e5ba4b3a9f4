#include "retro/text/longest_run.h"

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "run_oracle.h"

namespace retro {
namespace {

using testing::naive_longest_run;
using testing::Tokens;

int64_t longest_run(const Tokens& chunk, const Tokens& text, int64_t known = 0) {
  LongestRun longest;
  longest.set_chunk(chunk);
  return longest.extend(text, known);
}

Tokens counting(size_t count, int32_t first) {
  Tokens tokens(count);
  for (size_t i = 0; i < count; ++i) tokens[i] = first + static_cast<int32_t>(i);
  return tokens;
}

Tokens random_tokens(size_t count, uint32_t alphabet, double padding, std::mt19937& random) {
  Tokens tokens(count);
  for (int32_t& token : tokens) {
    token = static_cast<int32_t>(random() % alphabet) * 1013;
    if (static_cast<double>(random() % 1000) < 1000 * padding) token = -1;
  }
  return tokens;
}

TEST(LongestRun, HandMadeCases) {
  EXPECT_EQ(longest_run({1, 2, 3, 4}, {9, 2, 3, 9}), 2);
  EXPECT_EQ(longest_run({1, 2, 3, 4}, {1, 2, 3, 4}), 4);
  EXPECT_EQ(longest_run({1, 2, 3, 4}, {4, 3, 2, 1}), 1);
  EXPECT_EQ(longest_run({1, 2}, {3, 4}), 0);
  EXPECT_EQ(longest_run({7, 7, 7}, {7, 7, 7, 7, 7}), 3);
  EXPECT_EQ(longest_run({7, 7, 7, 7, 7}, {7, 7, 7}), 3);
  EXPECT_EQ(longest_run({}, {1}), 0);
  EXPECT_EQ(longest_run({1}, {}), 0);
}

TEST(LongestRun, PaddingNeverMatchesAndEndsRuns) {
  EXPECT_EQ(longest_run({-1, -1, 5}, {-1, -1, -1}), 0);
  EXPECT_EQ(longest_run({-1, -2, -3}, {-2, -3, 8}), 0);
  EXPECT_EQ(longest_run({1, 2, 3}, {1, -1, 2, 3}), 2);
  EXPECT_EQ(longest_run({1, -1, 2}, {1, -1, 2}), 1);
}

TEST(LongestRun, TheLargestAndSmallestIdsAreTokensLikeOthers) {
  constexpr int32_t kLargest = std::numeric_limits<int32_t>::max();
  EXPECT_EQ(longest_run({0, kLargest, 0}, {5, 0, kLargest, 1}), 2);
}

TEST(LongestRun, EqualsTheDefinitionOnRandomTexts) {
  std::mt19937 random(3);
  LongestRun longest;
  for (const size_t chunk_length : {1u, 2u, 31u, 32u, 63u, 64u, 65u, 256u}) {
    for (uint32_t trial = 0; trial < 60; ++trial) {
      const uint32_t alphabet = trial % 6 == 5 ? 40 : 1 + trial % 6;
      const Tokens chunk = random_tokens(chunk_length, alphabet, 0.02, random);
      longest.set_chunk(chunk);
      int64_t known = 0;
      for (int n = 0; n < 3; ++n) {
        const Tokens text = random_tokens(1 + random() % 130, alphabet, 0.05, random);
        const int64_t expected = naive_longest_run(chunk, text);
        EXPECT_EQ(longest.extend(text, 0), expected);
        known = longest.extend(text, known);
        EXPECT_GE(known, expected);
      }
    }
  }
}

// Every run from 0 to 64 in a text of 128, at any place of both, alone and beside a shorter one.
TEST(LongestRun, EveryLengthOfACopyIsFound) {
  std::mt19937 random(5);
  const Tokens chunk = counting(64, 1);
  for (size_t length = 0; length <= 64; ++length) {
    for (int trial = 0; trial < 20; ++trial) {
      Tokens text = counting(128, 1000);
      const auto from = static_cast<int64_t>(random() % (65 - length));
      const auto to = static_cast<int64_t>(random() % (129 - length));
      std::copy_n(chunk.begin() + from, length, text.begin() + to);
      EXPECT_EQ(longest_run(chunk, text), static_cast<int64_t>(length));
    }
  }
}

// Period by period: many runs of equal length overlap, and end at both borders.
TEST(LongestRun, PeriodicTexts) {
  for (size_t period = 1; period <= 9; ++period) {
    for (const size_t chunk_length : {7u, 63u, 64u}) {
      for (const size_t text_length : {1u, 63u, 64u, 65u, 128u}) {
        Tokens chunk(chunk_length), text(text_length);
        for (size_t i = 0; i < chunk_length; ++i) chunk[i] = static_cast<int32_t>(i % period);
        for (size_t j = 0; j < text_length; ++j) text[j] = static_cast<int32_t>((j + 2) % period);
        EXPECT_EQ(longest_run(chunk, text), naive_longest_run(chunk, text));
      }
    }
  }
}

TEST(LongestRun, NeverFallsBelowWhatIsKnown) {
  const Tokens chunk = counting(64, 1);
  for (size_t length = 0; length <= 64; ++length) {
    Tokens text = counting(128, 1000);
    std::copy_n(chunk.begin(), length, text.begin() + 3);
    for (int64_t known = 0; known <= 64; ++known)
      EXPECT_EQ(longest_run(chunk, text, known), std::max(known, static_cast<int64_t>(length)));
  }
}

TEST(LongestRun, ChunksLongerThanAWord) {
  const Tokens chunk = counting(70000, 0);
  const Tokens part(chunk.begin() + 100, chunk.begin() + 400);
  EXPECT_EQ(longest_run(chunk, part), 300);
  EXPECT_EQ(longest_run(chunk, part, 301), 301);
}

}  // namespace
}  // namespace retro
