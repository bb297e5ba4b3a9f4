#include "retro/data/source_mixture.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/error.h"

#include "data_layer/tiny_corpus.h"

namespace retro {
namespace {

using ::testing::HasSubstr;
using testing::TinyCorpus;
using testing::TinySource;

/// "few" has 20 documents, "many" 60; lengths 1 to 40.
const TinyCorpus& corpus() {
  static const TinyCorpus instance(
      {{"few", testing::random_texts(20, 40, 3)}, {"many", testing::random_texts(60, 40, 4)}});
  return instance;
}

int64_t tokens_of(const std::vector<int64_t>& documents, const std::string& source) {
  int64_t tokens = 0;
  for (const int64_t d : documents) {
    const DocumentInfo& document = corpus().corpus().document(d);
    if (document.source == source) tokens += document.num_tokens;
  }
  return tokens;
}

std::vector<int64_t> sorted(std::vector<int64_t> values) {
  std::sort(values.begin(), values.end());
  return values;
}

TEST(SourceMixture, ByTokensAnEpochIsEveryDocumentOnce) {
  const ChunkGrid grid = corpus().grid(4);
  const SourceMixture mixture(grid, {}, 5);
  std::vector<int64_t> all(80);
  std::iota(all.begin(), all.end(), 0);
  for (int64_t epoch = 0; epoch < 5; ++epoch) EXPECT_EQ(sorted(mixture.documents(epoch)), all);
}

TEST(SourceMixture, EpochsHaveOtherOrdersAndRepeatExactly) {
  const ChunkGrid grid = corpus().grid(4);
  const SourceMixture mixture(grid, {}, 5);
  EXPECT_NE(mixture.documents(0), mixture.documents(1));
  EXPECT_NE(mixture.documents(0), SourceMixture(grid, {}, 6).documents(0));
  EXPECT_EQ(mixture.documents(3), SourceMixture(grid, {}, 5).documents(3));
}

TEST(SourceMixture, WeightsAreSharesOfTokens) {
  const ChunkGrid grid = corpus().grid(4);
  const SourceMixture mixture(grid, {{"few", 3.0}, {"many", 1.0}}, 5);
  constexpr int64_t kEpochs = 10;
  int64_t few = 0;
  int64_t many = 0;
  for (int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    few += tokens_of(mixture.documents(epoch), "few");
    many += tokens_of(mixture.documents(epoch), "many");
  }
  const std::vector<int64_t> all = SourceMixture(grid, {}, 5).documents(0);
  const int64_t total = tokens_of(all, "few") + tokens_of(all, "many");
  // Over consecutive epochs a source is off by at most one document (40 tokens) and rounding (one
  // token an epoch).
  const auto expected = static_cast<double>(total * kEpochs);
  EXPECT_NEAR(static_cast<double>(few), 0.75 * expected, 40 + kEpochs);
  EXPECT_NEAR(static_cast<double>(many), 0.25 * expected, 40 + kEpochs);
}

TEST(SourceMixture, APassEndsBeforeTheNextBegins) {
  const ChunkGrid grid = corpus().grid(4);
  const SourceMixture mixture(grid, {{"few", 1.0}, {"many", 7.0}}, 5);
  std::map<int64_t, int64_t> times;
  for (int64_t epoch = 0; epoch < 12; ++epoch) {
    for (const int64_t d : mixture.documents(epoch)) ++times[d];
    // Documents of one source were read equally often, up to the pass in progress.
    for (const auto& [first, last] : {std::pair{0, 20}, std::pair{20, 80}}) {
      std::set<int64_t> counts;
      for (int64_t d = first; d < last; ++d) counts.insert(times[d]);
      EXPECT_LE(*counts.rbegin() - *counts.begin(), 1);
    }
  }
}

TEST(SourceMixture, UnnamedAndZeroWeightSourcesAreNotRead) {
  const ChunkGrid grid = corpus().grid(4);
  for (const auto& weights : {std::map<std::string, double>{{"few", 1.0}},
                              std::map<std::string, double>{{"few", 1.0}, {"many", 0.0}}}) {
    const SourceMixture mixture(grid, weights, 5);
    EXPECT_EQ(mixture.documents(0).size(), 20);
    EXPECT_EQ(tokens_of(mixture.documents(0), "many"), 0);
  }
}

std::string message_for(const std::map<std::string, double>& weights) {
  const ChunkGrid grid = corpus().grid(4);
  try {
    SourceMixture(grid, weights, 0);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(SourceMixture, RefusesWhatItCannotRead) {
  EXPECT_THAT(message_for({{"fw", 1.0}}), HasSubstr("train.sources.fw"));
  EXPECT_THAT(message_for({{"fw", 1.0}}), HasSubstr("few, many"));
  EXPECT_THAT(message_for({{"few", -1.0}}), HasSubstr("train.sources.few"));
  EXPECT_THAT(message_for({{"few", NAN}}), HasSubstr("train.sources.few"));
  EXPECT_THAT(message_for({{"few", 0.0}}), HasSubstr("every weight is 0"));
}

TEST(SourceMixture, RefusesAGridWithoutText) {
  const ChunkGrid grid(corpus().corpus(), {}, 4);
  EXPECT_THROW(SourceMixture(grid, {}, 0), Error);
}

}  // namespace
}  // namespace retro
