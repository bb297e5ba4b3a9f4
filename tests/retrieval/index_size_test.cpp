// Every index type works for every size of database, down to a single chunk.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "retro/core/error.h"

#include "index_test_support.h"

namespace retro {
namespace {

using ::testing::HasSubstr;
using testing::index_config;
using testing::IndexedDatabase;
using testing::random_documents;
using ::testing::StartsWith;

class IndexSize : public ::testing::TestWithParam<int64_t> {};

TEST_P(IndexSize, EveryTypeFindsTheNearest) {
  IndexedDatabase indexed(random_documents(GetParam(), 7), 20);
  const auto queries = indexed.new_queries(20);
  for (const std::string type : {"auto", "exact", "ivf_flat", "ivf_pq"}) {
    const NeighbourIndex index = indexed.index(index_config(type), type);
    EXPECT_EQ(index.report().num_indexed, GetParam());
    EXPECT_LE(index.report().num_lists, GetParam()) << "no list without a training point";
    const SearchParameters all_lists{.num_probes = 1 << 20, .num_threads = 2};
    const size_t k = 3;
    const auto found = testing::search(index, queries, 3, all_lists);
    testing::expect_well_formed(index, queries, found, k);
    const double floor = index.report().type == "ivf_pq" ? 0.9 : 1.0;
    EXPECT_GE(testing::recall_of(index, queries, k, all_lists), floor) << type;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, IndexSize, ::testing::Values(1, 2, 10, 15, 16, 17, 255, 256, 257));

TEST(IndexType, FollowsTheSizeAndSaysWhy) {
  IndexedDatabase indexed(random_documents(100, 10), 8);
  const IndexReport report = indexed.index(index_config("auto")).report();
  EXPECT_EQ(report.type, "exact");
  EXPECT_THAT(report.reason, StartsWith("exact: 100 chunks are at most "));
}

TEST(IndexType, TooFewToTrainCodesIsExact) {
  IndexedDatabase indexed(random_documents(15, 5), 8);
  const IndexReport report = indexed.index(index_config("ivf_pq")).report();
  EXPECT_EQ(report.type, "exact");
  EXPECT_THAT(report.reason, HasSubstr("ivf_pq needs at least 16 chunks"));
}

TEST(IndexType, MoreListsThanChunksAreCut) {
  IndexedDatabase indexed(random_documents(30, 5), 8);
  const IndexReport report = indexed.index(index_config("ivf_flat", 1000)).report();
  EXPECT_EQ(report.num_lists, 30);
  EXPECT_THAT(report.reason, HasSubstr("num_lists cut to the 30 chunks"));
}

// Product quantisation pads to whole codes; narrow and odd widths are widths like any other.
TEST(IndexType, OddKeyWidths) {
  for (const int64_t width : {1, 2, 3, 5, 13}) {
    IndexedDatabase indexed(random_documents(300, 10), width);
    const auto queries = indexed.new_queries(10);
    for (const std::string type : {"ivf_flat", "ivf_pq"}) {
      const NeighbourIndex index = indexed.index(index_config(type, 4), type);
      const auto found = testing::search(index, queries, 5);
      testing::expect_well_formed(index, queries, found, 5);
    }
  }
}

TEST(IndexType, IdenticalKeysAreNoObstacle) {
  std::vector<testing::TestDocument> documents;
  for (int i = 0; i < 400; ++i) documents.push_back({"s", std::to_string(i), "same"});
  IndexedDatabase indexed(documents, 8);
  for (const std::string type : {"exact", "ivf_flat", "ivf_pq"}) {
    const NeighbourIndex index = indexed.index(index_config(type), type);
    const auto query = testing::all_keys(indexed.database());
    const auto found =
        testing::search(index, {query.begin(), query.begin() + 8}, 4, {.num_probes = 1 << 20});
    EXPECT_EQ(found.distances, (std::vector<float>{0, 0, 0, 0})) << type;
    EXPECT_TRUE(std::ranges::is_sorted(found.ids));
  }
}

TEST(IndexType, NothingButSpacesCannotBeIndexed) {
  IndexedDatabase indexed({{"s", "a", "        "}}, 8);
  EXPECT_THAT(testing::error_of([&] { indexed.index(index_config("auto")); }),
              HasSubstr("no chunk with a key"));
}

// Above every threshold of the automatic choice. Recall is tested at ten thousand chunks: here keys
// of one random word tie by the thousand, and product codes cannot tell ties from near misses.
TEST(IndexType, AMillionChunks) {
  IndexedDatabase indexed(random_documents(1'000'000, 500), 8, "float16");
  const NeighbourIndex index = indexed.index(index_config("auto"));
  EXPECT_EQ(index.report().type, "ivf_pq");
  EXPECT_EQ(index.report().num_indexed, index.database().num_indexable());
  const auto queries = indexed.new_queries(20);
  testing::expect_well_formed(index, queries, testing::search(index, queries, 10), 10);
}

}  // namespace
}  // namespace retro
