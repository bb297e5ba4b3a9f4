#include "bert_windows.h"

#include <numeric>

#include <gtest/gtest.h>

namespace retro {
namespace {

TEST(BertWindows, TextsAreCutAtTheLongestWindow) {
  const std::vector<int64_t> counts = {3, 0, 510, 511, 1020};
  const auto windows = split_windows(counts, 510);
  const std::vector<PieceWindow> expected = {{0, 0, 3},   {2, 0, 510}, {3, 0, 510},
                                             {3, 510, 1}, {4, 0, 510}, {4, 510, 510}};
  ASSERT_EQ(windows.size(), expected.size());
  for (size_t w = 0; w < windows.size(); ++w) {
    EXPECT_EQ(windows[w].text, expected[w].text);
    EXPECT_EQ(windows[w].first, expected[w].first);
    EXPECT_EQ(windows[w].count, expected[w].count);
  }
}

std::vector<size_t> block_sizes(const std::vector<PieceWindow>& windows, int64_t block_pieces,
                                int64_t threads) {
  std::vector<size_t> sizes;
  size_t next = 0;
  for (const WindowBlock& block : split_blocks(windows, block_pieces, threads)) {
    EXPECT_EQ(block.begin, next);
    EXPECT_GT(block.end, block.begin);
    next = block.end;
    sizes.push_back(block.end - block.begin);
  }
  EXPECT_EQ(next, windows.size());
  return sizes;
}

TEST(BertWindows, BlocksShareThePieces) {
  const std::vector<PieceWindow> windows(12, {0, 0, 10});
  EXPECT_EQ(block_sizes(windows, 40, 1), (std::vector<size_t>{4, 4, 4}));
  EXPECT_EQ(block_sizes(windows, 1000, 1), (std::vector<size_t>{12}));
  EXPECT_EQ(block_sizes(windows, 1, 1), std::vector<size_t>(12, 1));
}

TEST(BertWindows, EveryThreadHasABlock) {
  const std::vector<PieceWindow> windows(8, {0, 0, 10});
  EXPECT_EQ(block_sizes(windows, 1000, 4), (std::vector<size_t>{2, 2, 2, 2}));
  EXPECT_EQ(block_sizes({{0, 0, 10}}, 1000, 4), (std::vector<size_t>{1}));
  EXPECT_TRUE(block_sizes({}, 1000, 4).empty());
}

TEST(BertWindows, AWindowLargerThanABlockStaysWhole) {
  EXPECT_EQ(block_sizes({{0, 0, 510}, {1, 0, 1}, {2, 0, 1}}, 100, 1), (std::vector<size_t>{1, 2}));
}

}  // namespace
}  // namespace retro
