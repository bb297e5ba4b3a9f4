#include "retro/text/duplicate_clusters.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <gmock/gmock.h>

#include "retro/core/log.h"
#include "retro/core/random.h"

namespace retro {
namespace {

using ::testing::IsEmpty;

constexpr uint32_t kA = 1;
constexpr uint32_t kB = 8;

/// Documents whose tokens live here.
class Documents {
 public:
  void add(std::vector<uint32_t> tokens, uint32_t roles = kA) {
    texts_.push_back(std::move(tokens));
    roles_.push_back(roles);
  }
  size_t size() const { return texts_.size(); }
  const std::vector<uint32_t>& text(size_t i) const { return texts_[i]; }
  /// In the order of `order`, each under its own name.
  std::vector<DuplicatePair> find(const std::vector<int64_t>& order, int num_threads = 2) const {
    std::vector<ClusterDocument> documents;
    for (const int64_t i : order) {
      const auto place = static_cast<size_t>(i);
      documents.push_back({texts_[place], roles_[place], std::to_string(i)});
    }
    auto pairs = find_duplicates(documents, num_threads);
    for (DuplicatePair& pair : pairs) {
      pair.document = order[static_cast<size_t>(pair.document)];
      pair.survivor = order[static_cast<size_t>(pair.survivor)];
    }
    std::sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) {
      return std::pair(a.document, a.survivor) < std::pair(b.document, b.survivor);
    });
    return pairs;
  }
  std::vector<DuplicatePair> find() const { return find(in_order()); }
  std::vector<int64_t> in_order() const {
    std::vector<int64_t> order(size());
    std::iota(order.begin(), order.end(), 0);
    return order;
  }

 private:
  std::vector<std::vector<uint32_t>> texts_;
  std::vector<uint32_t> roles_;
};

std::vector<uint32_t> tokens_from(uint32_t first, size_t count) {
  std::vector<uint32_t> tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

std::vector<int64_t> dropped(const std::vector<DuplicatePair>& pairs) {
  std::vector<int64_t> found;
  for (const DuplicatePair& pair : pairs) {
    if (pair.lost_roles != 0) found.push_back(pair.document);
  }
  return found;
}

class DuplicateClusters : public ::testing::Test {
 protected:
  DuplicateClusters() { set_log_quiet(true); }
};

TEST_F(DuplicateClusters, TheLongestStays) {
  Documents documents;
  documents.add(tokens_from(0, 108));  // 96 of 100 shingles of the next
  documents.add(tokens_from(0, 112));
  documents.add(tokens_from(5000, 112));
  documents.add({});
  documents.add({});  // empty documents resemble nothing
  const auto pairs = documents.find();
  ASSERT_EQ(pairs.size(), 1U);
  EXPECT_EQ(pairs[0], (DuplicatePair{0, 1, 0.96, kA}));
}

TEST_F(DuplicateClusters, ChainsDoNotMerge) {
  // Windows of 112 tokens moved by 10: 90 common shingles of 110 with the next (0.818), 80 of 120
  // with the one after it (0.667).
  Documents documents;
  documents.add(tokens_from(0, 113));  // a shingle longer: it comes first
  documents.add(tokens_from(10, 112));
  documents.add(tokens_from(20, 111));
  const auto pairs = documents.find();
  ASSERT_EQ(pairs.size(), 1U);
  EXPECT_EQ(pairs[0], (DuplicatePair{1, 0, 91.0 / 110.0, kA}));
}

TEST_F(DuplicateClusters, RolesAreLostOneByOne) {
  Documents documents;
  documents.add(tokens_from(0, 120), kA);
  documents.add(tokens_from(0, 119), kA | kB);  // loses A to the first, keeps B
  documents.add(tokens_from(0, 118), kA | kB);  // loses both
  documents.add(tokens_from(0, 117), 0);        // takes no part
  const auto pairs = documents.find();
  ASSERT_EQ(pairs.size(), 3U);
  EXPECT_EQ(pairs[0], (DuplicatePair{1, 0, 107.0 / 108.0, kA}));
  EXPECT_EQ(pairs[1], (DuplicatePair{2, 0, 106.0 / 108.0, kA}));
  EXPECT_EQ(pairs[2], (DuplicatePair{2, 1, 106.0 / 107.0, kB}));
}

TEST_F(DuplicateClusters, OfEqualDocumentsOneStays) {
  Documents documents;
  for (int i = 0; i < 50; ++i) documents.add(tokens_from(7, 40));
  for (int i = 0; i < 3; ++i) documents.add(tokens_from(7, 5));
  EXPECT_EQ(dropped(documents.find()).size(), 49U + 2U);
  EXPECT_THAT(find_duplicates({}, 2), IsEmpty());
}

/// Families of edited copies: of each text a few versions with a stretch replaced.
Documents edited_copies(size_t num_families, size_t num_copies) {
  Documents documents;
  RandomStream random(3, "edited copies");
  for (size_t family = 0; family < num_families; ++family) {
    std::vector<uint32_t> text(40 + random.below(400));
    for (uint32_t& token : text) token = static_cast<uint32_t>(random.below(1000));
    for (size_t copy = 0; copy < num_copies; ++copy) {
      std::vector<uint32_t> edited = text;
      const size_t begin = random.below(edited.size());
      const size_t end = std::min(edited.size(), begin + random.below(6));
      for (size_t i = begin; i < end; ++i) edited[i] = static_cast<uint32_t>(random.below(1000));
      edited.resize(edited.size() - random.below(8));
      documents.add(std::move(edited));
    }
  }
  return documents;
}

/// The 13-token-grams themselves.
std::set<std::vector<uint32_t>> shingles(const std::vector<uint32_t>& text) {
  std::set<std::vector<uint32_t>> set;
  for (size_t i = 0; i + 13 <= text.size(); ++i)
    set.insert(std::vector<uint32_t>(text.begin() + static_cast<std::ptrdiff_t>(i),
                                     text.begin() + static_cast<std::ptrdiff_t>(i + 13)));
  return set;
}

double plain_jaccard(const std::set<std::vector<uint32_t>>& a,
                     const std::set<std::vector<uint32_t>>& b) {
  size_t common = 0;
  for (const auto& shingle : a) common += b.count(shingle);
  return static_cast<double>(common) / static_cast<double>(a.size() + b.size() - common);
}

TEST_F(DuplicateClusters, EveryPairOfTextsIsAccountedFor) {
  const Documents documents = edited_copies(40, 6);
  std::vector<std::set<std::vector<uint32_t>>> sets;
  for (size_t i = 0; i < documents.size(); ++i) sets.push_back(shingles(documents.text(i)));
  const auto pairs = documents.find();
  std::map<std::pair<int64_t, int64_t>, double> found;
  for (const DuplicatePair& pair : pairs) found[{pair.document, pair.survivor}] = pair.similarity;
  const auto lost = dropped(pairs);
  const auto is_dropped = [&](size_t i) {
    return std::binary_search(lost.begin(), lost.end(), static_cast<int64_t>(i));
  };
  EXPECT_GT(lost.size(), 40U);
  for (size_t i = 0; i < sets.size(); ++i) {
    bool resembles_survivor = false;
    for (size_t j = 0; j < sets.size(); ++j) {
      if (i == j || is_dropped(j)) continue;
      const double similarity = plain_jaccard(sets[i], sets[j]);
      if (similarity < 0.8) continue;
      resembles_survivor = true;
      // Survivors differ from one another; whom a dropped document resembles is listed.
      ASSERT_TRUE(is_dropped(i)) << i << " and " << j << ": " << similarity;
      const auto pair = std::pair(static_cast<int64_t>(i), static_cast<int64_t>(j));
      if (found.contains(pair)) {
        EXPECT_DOUBLE_EQ(found[pair], similarity);
      } else {
        // Only a survivor that is taken later (not larger) is not listed.
        EXPECT_LE(sets[j].size(), sets[i].size());
      }
    }
    EXPECT_EQ(resembles_survivor, is_dropped(i)) << i;
  }
}

TEST_F(DuplicateClusters, NeitherOrderNorThreadsMatter) {
  // More documents than a block, so that survivors of earlier blocks count, and are forgotten.
  const Documents documents = edited_copies(900, 4);
  const auto pairs = documents.find(documents.in_order(), 1);
  EXPECT_GT(pairs.size(), 1000U);
  std::vector<int64_t> shuffled = documents.in_order();
  RandomStream random(4, "order");
  shuffle(shuffled, random);
  EXPECT_EQ(documents.find(shuffled, 3), pairs);
}

}  // namespace
}  // namespace retro
