#include "token_places.h"

#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace retro {
namespace {

using Tokens = std::vector<int32_t>;

uint64_t expected_word(const Tokens& chunk, int32_t token) {
  uint64_t word = 0;
  for (size_t i = 0; i < chunk.size(); ++i) {
    if (token >= 0 && chunk[i] == token) word |= uint64_t{1} << i;
  }
  return word;
}

void expect_places(const TokenPlaces& places, const Tokens& chunk, const Tokens& text) {
  std::vector<uint64_t> words(text.size());
  uint64_t expected_any = 0;
  const uint64_t any = places.find(text, words.data());
  for (size_t j = 0; j < text.size(); ++j) {
    EXPECT_EQ(words[j], expected_word(chunk, text[j])) << text[j];
    expected_any |= words[j];
  }
  EXPECT_EQ(any, expected_any);
  std::vector<uint64_t> unchecked(text.size());
  places.find_unchecked(text, unchecked.data());
  for (size_t j = 0; j < text.size(); ++j) EXPECT_EQ(unchecked[j] & words[j], words[j]) << text[j];
}

TEST(TokenPlaces, ABitForEachPlace) {
  TokenPlaces places;
  places.assign(Tokens{5, 7, 5, -1, 9});
  std::vector<uint64_t> words(5);
  EXPECT_EQ(places.find(Tokens{5, 7, 9, 8, -1}, words.data()), 0b10111u);
  EXPECT_EQ(words, (std::vector<uint64_t>{0b101, 0b10, 0b10000, 0, 0}));
}

// Ids one after the other, far apart, equal in their low or in their high bits, and at random: a
// slot of one must never be taken by another.
TEST(TokenPlaces, AnyIdsHaveSlotsOfTheirOwn) {
  std::mt19937 random(11);
  TokenPlaces places;
  for (int shift = 0; shift < 25; ++shift) {
    for (const int32_t offset : {0, 1, 77777}) {
      Tokens chunk(64);
      for (size_t i = 0; i < 64; ++i) chunk[i] = (static_cast<int32_t>(i) << shift) + offset;
      places.assign(chunk);
      Tokens text = chunk;
      for (int n = 0; n < 64; ++n) text.push_back(static_cast<int32_t>(random() >> 1));
      expect_places(places, chunk, text);
    }
  }
  for (int trial = 0; trial < 500; ++trial) {
    Tokens chunk(64);
    for (int32_t& token : chunk) token = static_cast<int32_t>(random() >> (1 + trial % 20));
    places.assign(chunk);
    expect_places(places, chunk, chunk);
  }
}

// 64 ids that the first factor sends to one slot of 2,048: other factors are tried.
TEST(TokenPlaces, IdsChosenAgainstTheFirstFactor) {
  std::set<int32_t> chosen;
  for (uint32_t token = 1; chosen.size() < 64; ++token) {
    if (token * 2654435769u >> 21 == 3) chosen.insert(static_cast<int32_t>(token));
  }
  const Tokens chunk(chosen.begin(), chosen.end());
  TokenPlaces places;
  places.assign(chunk);
  Tokens text = chunk;
  for (int32_t token = 0; token < 4096; ++token) text.push_back(token);
  expect_places(places, chunk, text);
}

TEST(TokenPlaces, ForgetsTheChunkBefore) {
  TokenPlaces places;
  places.assign(Tokens{1, 2, 3});
  places.assign(Tokens{3});
  expect_places(places, {3}, {1, 2, 3, -1});
  places.assign(Tokens{});
  expect_places(places, {}, {1, 2, 3, 0, -1});
}

}  // namespace
}  // namespace retro
