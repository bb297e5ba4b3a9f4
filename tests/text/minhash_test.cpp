#include "retro/text/minhash.h"

#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>

#include "retro/core/random.h"

#include "text_test_support.h"

namespace retro {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::ScratchDirectory;

std::vector<uint32_t> tokens_from(uint32_t first, size_t count) {
  std::vector<uint32_t> tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

std::vector<uint64_t> set_from(const std::vector<uint32_t>& tokens) {
  auto hashes = shingle_hashes(tokens);
  make_set(hashes);
  return hashes;
}

TEST(Shingles, OnePerRunOf13Tokens) {
  EXPECT_THAT(shingle_hashes({}), IsEmpty());
  EXPECT_EQ(shingle_hashes(tokens_from(0, 1)).size(), 1U);
  EXPECT_EQ(shingle_hashes(tokens_from(0, 12)).size(), 1U);
  EXPECT_EQ(shingle_hashes(tokens_from(0, 13)).size(), 1U);
  EXPECT_EQ(shingle_hashes(tokens_from(0, 14)).size(), 2U);
  EXPECT_EQ(shingle_hashes(tokens_from(0, 100)).size(), 88U);
}

TEST(Shingles, DependOnTheirTokensAlone) {
  const auto whole = shingle_hashes(tokens_from(0, 30));
  EXPECT_EQ(whole[5], shingle_hashes(tokens_from(5, 13))[0]);
  EXPECT_NE(whole[5], whole[6]);
  // The same token over and over: every run is equal.
  EXPECT_EQ(set_from(std::vector<uint32_t>(50, 7)).size(), 1U);
}

TEST(Shingles, AShortDocumentEqualsOnlyItself) {
  EXPECT_EQ(set_from(tokens_from(0, 5)), set_from(tokens_from(0, 5)));
  EXPECT_NE(set_from(tokens_from(0, 5)), set_from(tokens_from(0, 6)));
  EXPECT_NE(set_from(tokens_from(0, 12)), set_from(tokens_from(0, 13)));
}

TEST(Jaccard, ByHand) {
  using Set = std::vector<uint64_t>;
  EXPECT_EQ(jaccard(Set{1, 2, 3}, Set{1, 2, 3}), 1.0);
  EXPECT_EQ(jaccard(Set{1, 2, 3}, Set{2, 3, 4}), 0.5);
  EXPECT_EQ(jaccard(Set{1, 5, 9}, Set{9}), 1.0 / 3.0);
  EXPECT_EQ(jaccard(Set{1, 2}, Set{3, 4}), 0.0);
  EXPECT_EQ(jaccard(Set{}, Set{1}), 0.0);
  EXPECT_EQ(jaccard(Set{}, Set{}), 0.0);  // empty documents resemble nothing
  Set repeated = {3, 1, 3, 2, 1};
  make_set(repeated);
  EXPECT_THAT(repeated, ElementsAre(1, 2, 3));
  EXPECT_EQ(count_distinct(Set{3, 1, 3, 2, 1}), 3U);
  EXPECT_EQ(count_distinct(Set{0, 1ULL << 40, 0, 1ULL << 41}), 3U);
  EXPECT_EQ(count_distinct(Set{}), 0U);
}

TEST(MinHash, ShareOfEqualMinimaEstimatesJaccard) {
  // 128 minima: standard deviation sqrt(J (1 - J) / 128), at most 0.044; the bound is 4 of them.
  for (const double overlap : {0.0, 0.25, 0.5, 0.8, 1.0}) {
    RandomStream random(9, "minhash test", static_cast<uint64_t>(overlap * 100));
    std::vector<uint64_t> a;
    std::vector<uint64_t> b;
    for (int i = 0; i < 2000; ++i) {
      const uint64_t x = random.next_u64();
      const bool is_common = i < 2000 * overlap;
      if (is_common || i % 2 == 0) a.push_back(x);
      if (is_common || i % 2 == 1) b.push_back(x);
    }
    const MinHashSignature sa = min_hash(a);
    const MinHashSignature sb = min_hash(b);
    double equal = 0;
    for (size_t i = 0; i < sa.size(); ++i) equal += sa[i] == sb[i];
    EXPECT_NEAR(equal / 128.0, overlap, 0.18) << overlap;
  }
}

TEST(MinHash, OrderAndRepeatsDoNotMatter) {
  EXPECT_EQ(min_hash(std::vector<uint64_t>{5, 1ULL << 60, 7}),
            min_hash(std::vector<uint64_t>{7, 5, 1ULL << 60, 5, 7}));
}

TEST(MinHash, SketchesTellWhatIsWorthComparing) {
  MinHashSignature a{}, b{};
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<uint32_t>(i) | 0xABCD00;
    b[i] = static_cast<uint32_t>(i < 74 ? i : i ^ 1) | 0xABCD00;
  }
  EXPECT_TRUE(may_be_duplicates(sketch_of(a), sketch_of(b)));
  b[73] ^= 1;
  EXPECT_FALSE(may_be_duplicates(sketch_of(a), sketch_of(b)));
}

// 1,600 common elements of 2,000: none of 300 pairs may be lost; of 1,000 in 2,000 most are.
TEST(MinHash, SketchesKeepEveryPairAboveTheThreshold) {
  RandomStream random(5, "sketches");
  int num_kept_half = 0;
  for (int trial = 0; trial < 300; ++trial) {
    for (const size_t num_common : {1600u, 1000u}) {
      std::vector<uint64_t> a, b;
      for (size_t i = 0; i < 2000; ++i) {
        const uint64_t x = random.next_u64();
        if (i < num_common || i % 2 == 0) a.push_back(x);
        if (i < num_common || i % 2 == 1) b.push_back(x);
      }
      const bool is_kept = may_be_duplicates(sketch_of(min_hash(a)), sketch_of(min_hash(b)));
      if (num_common == 1600) {
        EXPECT_TRUE(is_kept) << trial;
      } else {
        num_kept_half += is_kept;
      }
    }
  }
  EXPECT_LT(num_kept_half, 60);
}

class NearDuplicates : public ::testing::Test {
 protected:
  /// A document of 112 tokens (100 shingles) that begins like the reference and goes on with its
  /// own.
  static std::vector<uint64_t> beginning_with(size_t common_tokens, uint32_t own) {
    std::vector<uint32_t> tokens = tokens_from(0, common_tokens);
    for (uint32_t i = 0; tokens.size() < 112; ++i) tokens.push_back(1000 * own + i);
    return shingle_hashes(tokens);
  }
  NearDuplicateIndex index_of(
      const std::vector<std::pair<int64_t, std::vector<uint64_t>>>& documents) {
    NearDuplicateIndex index(scratch_ / "sets");
    for (const auto& [number, hashes] : documents) index.add(number, hashes);
    index.finish();
    return index;
  }
  /// The most similar one.
  static std::optional<NearDuplicateIndex::Match> best(const NearDuplicateIndex& index,
                                                       std::vector<uint64_t> hashes) {
    const auto matches = index.find(std::move(hashes));
    return matches.empty() ? std::nullopt : std::optional(matches.front());
  }
  ScratchDirectory scratch_;
};

TEST_F(NearDuplicates, BothSidesOfTheThreshold) {
  const auto index = index_of({{42, shingle_hashes(tokens_from(0, 112))}});
  // 89 common shingles of 111 different ones: 0.8018. 88 of 112: 0.7857.
  const auto above = best(index, beginning_with(101, 1));
  ASSERT_TRUE(above);
  EXPECT_EQ(above->document, 42);
  EXPECT_DOUBLE_EQ(above->similarity, 89.0 / 111.0);
  EXPECT_FALSE(best(index, beginning_with(100, 1)));
  EXPECT_FALSE(best(index, beginning_with(0, 1)));
  EXPECT_DOUBLE_EQ(best(index, beginning_with(112, 1))->similarity, 1.0);
}

TEST_F(NearDuplicates, ExactlyTheThresholdCounts) {
  // 8 of 10 shingles.
  const auto index = index_of({{1, shingle_hashes(tokens_from(0, 22))}});
  EXPECT_DOUBLE_EQ(best(index, shingle_hashes(tokens_from(0, 20)))->similarity, 0.8);
  EXPECT_FALSE(best(index, shingle_hashes(tokens_from(0, 19))));
}

TEST_F(NearDuplicates, TheMostSimilarWinsWhateverTheOrder) {
  const std::vector<std::pair<int64_t, std::vector<uint64_t>>> documents = {
      {7, beginning_with(110, 1)},
      {3, beginning_with(105, 2)},
      {9, beginning_with(110, 3)},
      {5, beginning_with(50, 4)}};
  auto reversed = documents;
  std::reverse(reversed.begin(), reversed.end());
  const auto forward_match = best(index_of(documents), shingle_hashes(tokens_from(0, 112)));
  const auto reversed_match = best(index_of(reversed), shingle_hashes(tokens_from(0, 112)));
  ASSERT_TRUE(forward_match && reversed_match);
  EXPECT_EQ(forward_match->document, 7);  // as similar as 9, lower number
  EXPECT_EQ(reversed_match->document, 7);
}

TEST_F(NearDuplicates, EveryMatchIsListed) {
  const auto index = index_of(
      {{7, beginning_with(110, 1)}, {3, beginning_with(105, 2)}, {5, beginning_with(50, 4)}});
  const auto matches = index.find(shingle_hashes(tokens_from(0, 112)));
  ASSERT_EQ(matches.size(), 2U);
  EXPECT_EQ(matches[0].document, 7);
  EXPECT_DOUBLE_EQ(matches[0].similarity, 98.0 / 102.0);
  EXPECT_EQ(matches[1].document, 3);
  EXPECT_DOUBLE_EQ(matches[1].similarity, 93.0 / 107.0);
}

TEST_F(NearDuplicates, RepeatedDocumentsAreOneThatCounts) {
  std::vector<std::pair<int64_t, std::vector<uint64_t>>> documents;
  for (int64_t number = 1000; number > 0; --number)
    documents.push_back({number, beginning_with(112, 1)});
  documents.push_back({2000, beginning_with(110, 2)});
  const auto index = index_of(documents);
  EXPECT_EQ(index.num_documents(), 2);
  // A copy in another order of repeats is the same set.
  auto hashes = shingle_hashes(tokens_from(0, 112));
  hashes.insert(hashes.begin(), hashes.back());
  const auto matches = index.find(hashes);
  ASSERT_EQ(matches.size(), 2U);
  EXPECT_EQ(matches[0].document, 1);
  EXPECT_EQ(matches[0].copies, 1000);
  EXPECT_EQ(matches[0].similarity, 1.0);
  EXPECT_EQ(matches[1].document, 2000);
  EXPECT_EQ(matches[1].copies, 1);
}

TEST_F(NearDuplicates, OnlyTheBestMatchesAreListed) {
  std::vector<std::pair<int64_t, std::vector<uint64_t>>> documents;
  for (uint32_t own = 1; own <= 30; ++own)
    documents.push_back({own, beginning_with(112 - own % 10, own)});
  const auto matches = index_of(documents).find(shingle_hashes(tokens_from(0, 112)));
  ASSERT_EQ(matches.size(), NearDuplicateIndex::kMostMatches);
  // Multiples of ten are whole copies (and so one), the next best have lost one token.
  EXPECT_EQ(matches[0].document, 10);
  EXPECT_EQ(matches[0].copies, 3);
  const std::vector<int64_t> next = {1, 11, 21, 2, 12, 22, 3};
  for (size_t i = 0; i < next.size(); ++i) EXPECT_EQ(matches[i + 1].document, next[i]);
}

TEST_F(NearDuplicates, ShortAndEmptyDocuments) {
  const auto index = index_of({{1, shingle_hashes(tokens_from(0, 5))}, {2, {}}});
  EXPECT_EQ(index.num_documents(), 1);
  EXPECT_EQ(best(index, shingle_hashes(tokens_from(0, 5)))->document, 1);
  EXPECT_FALSE(best(index, shingle_hashes(tokens_from(0, 6))));
  EXPECT_FALSE(best(index, shingle_hashes(tokens_from(0, 100))));
  EXPECT_FALSE(best(index, {}));
  EXPECT_FALSE(best(index_of({}), shingle_hashes(tokens_from(0, 5))));
}

TEST_F(NearDuplicates, NoneIsMissedAtTheThreshold) {
  // 300 documents, each with a copy of similarity 89 / 111: the bands miss one in 2e7.
  std::vector<std::pair<int64_t, std::vector<uint64_t>>> documents;
  for (uint32_t i = 0; i < 300; ++i)
    documents.push_back({i, shingle_hashes(tokens_from(100'000 + 500 * i, 112))});
  const auto index = index_of(documents);
  for (uint32_t i = 0; i < 300; ++i) {
    std::vector<uint32_t> copy = tokens_from(100'000 + 500 * i, 101);
    for (uint32_t j = 0; j < 11; ++j) copy.push_back(1'000'000 + 50 * i + j);
    const auto match = best(index, shingle_hashes(copy));
    ASSERT_TRUE(match) << i;
    EXPECT_EQ(match->document, i);
  }
}

}  // namespace
}  // namespace retro
