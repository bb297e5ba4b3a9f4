#include "shingle_lookup.h"

#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "retro/text/minhash.h"

namespace retro {
namespace {

using TokenIds = std::vector<uint32_t>;
using Grams = std::set<TokenIds>;

Grams grams_of(const TokenIds& tokens) {
  if (tokens.empty()) return {};
  if (tokens.size() < kShingleTokens) return {tokens};
  Grams grams;
  for (size_t i = 0; i + kShingleTokens <= tokens.size(); ++i) {
    const auto begin = tokens.begin() + static_cast<int64_t>(i);
    grams.emplace(begin, begin + static_cast<int64_t>(kShingleTokens));
  }
  return grams;
}

/// By definition, on the token-grams themselves.
double plain_jaccard(const Grams& a, const Grams& b) {
  size_t common = 0;
  for (const TokenIds& gram : a) common += b.count(gram);
  return a.empty() || b.empty()
             ? 0.0
             : static_cast<double>(common) / static_cast<double>(a.size() + b.size() - common);
}

/// A copy with some tokens replaced and a stretch repeated.
TokenIds edited(const TokenIds& tokens, uint32_t num_edits, std::mt19937& random) {
  TokenIds copy = tokens;
  for (uint32_t e = 0; e < num_edits && !copy.empty(); ++e)
    copy[random() % copy.size()] = static_cast<uint32_t>(random() % 50);
  const size_t begin = copy.empty() ? 0 : random() % copy.size();
  const TokenIds stretch(copy.begin() + static_cast<int64_t>(begin), copy.end());
  if (random() % 2 == 0) copy.insert(copy.end(), stretch.begin(), stretch.end());
  return copy;
}

TEST(ShingleLookup, EqualsTheDefinition) {
  std::mt19937 random(4);
  for (uint32_t trial = 0; trial < 400; ++trial) {
    TokenIds tokens(random() % 400);
    for (uint32_t& token : tokens) token = static_cast<uint32_t>(random() % (2 + trial % 50));
    const TokenIds other = edited(tokens, trial % 12, random);
    const Grams a = grams_of(tokens), b = grams_of(other);
    const double expected = plain_jaccard(a, b);
    const ShingleLookup lookup(tokens);
    EXPECT_EQ(lookup.similarity(other, b.size(), 0.0), expected);
    const double given_up = lookup.similarity(other, b.size(), 0.8);
    if (expected >= 0.8) {
      EXPECT_EQ(given_up, expected);
    } else {
      EXPECT_LT(given_up, 0.8);
    }
  }
}

TEST(ShingleLookup, TheThresholdItselfIsKept) {
  // 13-grams of 28 and of 24 tokens that begin alike: 16 and 12 of them, 12 common; with 27: 15.
  TokenIds tokens(28);
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<uint32_t>(i);
  const ShingleLookup lookup(tokens);
  EXPECT_EQ(lookup.similarity(std::span(tokens).first(24), 12, 0.75), 0.75);
  EXPECT_LT(lookup.similarity(std::span(tokens).first(24), 12, 0.76), 0.76);
  EXPECT_EQ(lookup.similarity(std::span(tokens).first(27), 15, 15.0 / 16), 15.0 / 16);
}

TEST(ShingleLookup, ShortAndEmptyDocuments) {
  const ShingleLookup lookup(TokenIds{1, 2, 3});
  EXPECT_EQ(lookup.similarity(TokenIds{1, 2, 3}, 1, 0.8), 1.0);
  EXPECT_EQ(lookup.similarity(TokenIds{1, 2}, 1, 0.8), 0.0);
  EXPECT_EQ(lookup.similarity(TokenIds{}, 0, 0.8), 0.0);
  EXPECT_EQ(ShingleLookup(TokenIds{}).similarity(TokenIds{1}, 1, 0.8), 0.0);
}

}  // namespace
}  // namespace retro
