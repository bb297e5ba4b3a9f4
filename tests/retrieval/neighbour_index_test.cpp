#include "retro/retrieval/neighbour_index.h"

#include <atomic>
#include <map>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "retro/core/error.h"

#include "index_test_support.h"

namespace retro {
namespace {

using testing::index_config;
using testing::IndexedDatabase;
using testing::Neighbours;
using testing::random_documents;

/// 10,000 chunks of width 24, in several shards; built once.
class TenThousand : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    indexed_ = new IndexedDatabase(random_documents(10'000, 20), 24, "float16", 4000);
    queries_ = new std::vector<float>(indexed_->new_queries(300));
  }
  static void TearDownTestSuite() {
    delete indexed_;
    delete queries_;
  }
  /// Built once per type.
  static const NeighbourIndex& index(const std::string& type) {
    static std::map<std::string, NeighbourIndex> indexes;
    const auto found = indexes.find(type);
    if (found != indexes.end()) return found->second;
    return indexes.emplace(type, indexed_->index(index_config(type), type)).first->second;
  }
  static IndexedDatabase* indexed_;
  static std::vector<float>* queries_;
};
IndexedDatabase* TenThousand::indexed_ = nullptr;
std::vector<float>* TenThousand::queries_ = nullptr;

TEST_F(TenThousand, ExactIsExact) {
  EXPECT_EQ(testing::recall_of(index("exact"), *queries_, 10), 1.0);
  testing::expect_well_formed(index("exact"), *queries_,
                              testing::search(index("exact"), *queries_, 10), 10);
}

TEST_F(TenThousand, FlatListsAreExactWhenAllAreRead) {
  const NeighbourIndex& flat = index("ivf_flat");
  EXPECT_GT(flat.report().num_lists, 50);
  EXPECT_EQ(testing::search(flat, *queries_, 10, {.num_probes = flat.report().num_lists}),
            testing::search(index("exact"), *queries_, 10))
      << "the same ids and the same bits";
}

TEST_F(TenThousand, TunedProbesReachTheTarget) {
  for (const std::string type : {"ivf_flat", "ivf_pq"}) {
    const IndexReport& report = index(type).report();
    EXPECT_GE(report.recall_at_10, 0.95) << type;
    EXPECT_GE(report.recall_1_in_10, 0.95) << type;
    // The tests' own queries are another sample: a little less can happen.
    EXPECT_GE(testing::recall_of(index(type), *queries_, 10), 0.9) << type;
    testing::expect_well_formed(index(type), *queries_, testing::search(index(type), *queries_, 10),
                                10);
  }
}

TEST_F(TenThousand, ChosenPointIsTheFastestThatReachesTheTarget) {
  for (const std::string type : {"ivf_flat", "ivf_pq"}) {
    const IndexReport& report = index(type).report();
    ASSERT_GT(report.operating_points.size(), 1U);
    int num_chosen = 0;
    for (const OperatingPoint& point : report.operating_points) {
      // A quarter of the allowed misses is kept in reserve.
      if (point.recall_at_10 >= 0.95 + 0.0125) {
        EXPECT_LE(report.seconds_per_query, point.seconds_per_query);
      }
      const bool is_chosen =
          point.num_probes == report.num_probes && point.rerank_factor == report.rerank_factor;
      if (is_chosen) {
        EXPECT_EQ(report.recall_at_10, point.recall_at_10);
        EXPECT_GE(report.recall_at_10, 0.9625);
        ++num_chosen;
      }
    }
    EXPECT_EQ(num_chosen, 1);
  }
}

TEST_F(TenThousand, MoreCandidatesFindMore) {
  const NeighbourIndex& coded = index("ivf_pq");
  const auto recall_with = [&](int64_t factor) {
    const SearchParameters parameters{.num_probes = 1 << 20, .rerank_factor = factor};
    return testing::recall_of(coded, *queries_, 20, parameters);
  };
  EXPECT_LT(recall_with(1), recall_with(100));
  EXPECT_EQ(recall_with(1000), 1.0) << "every chunk is a candidate";
}

// A graph over the centroids misses few of the lists that a scan finds.
TEST_F(TenThousand, GraphOverTheListsReachesTheTargetToo) {
  for (const std::string type : {"ivf_flat", "ivf_pq"}) {
    IndexConfig config = index_config(type);
    config.coarse = "hnsw";
    const NeighbourIndex graph = indexed_->index(config, type + "_graph");
    ASSERT_TRUE(graph.report().has_graph);
    EXPECT_GE(graph.report().recall_at_10, 0.95) << type;
    const Neighbours one = testing::search(graph, *queries_, 7, {.num_threads = 1});
    EXPECT_EQ(testing::search(graph, *queries_, 7, {.num_threads = 3}), one) << type;
    testing::expect_well_formed(graph, *queries_, one, 7);
  }
}

TEST_F(TenThousand, MoreProbesFindMore) {
  for (const std::string type : {"ivf_flat", "ivf_pq"}) {
    const double one = testing::recall_of(index(type), *queries_, 10, {.num_probes = 1});
    const double many = testing::recall_of(index(type), *queries_, 10, {.num_probes = 200});
    EXPECT_LT(one, many - 0.05) << type << ": num_probes of a call is heeded";
  }
}

TEST_F(TenThousand, BitsDoNotDependOnThreadsOrCompany) {
  const size_t width = 24;
  for (const std::string type : {"exact", "ivf_flat", "ivf_pq"}) {
    const Neighbours one = testing::search(index(type), *queries_, 7, {.num_threads = 1});
    for (const int threads : {2, 5}) {
      EXPECT_EQ(testing::search(index(type), *queries_, 7, {.num_threads = threads}), one) << type;
    }
    for (size_t x = 0; x < 50; ++x) {
      const auto begin = queries_->begin() + static_cast<std::ptrdiff_t>(x * width);
      const Neighbours alone = testing::search(index(type), {begin, begin + width}, 7);
      ASSERT_TRUE(std::ranges::equal(alone.ids, std::span(one.ids).subspan(x * 7, 7))) << type;
      ASSERT_TRUE(std::ranges::equal(alone.distances, std::span(one.distances).subspan(x * 7, 7)));
    }
  }
}

// nprobe as a shared field was a data race elsewhere.
TEST_F(TenThousand, ManyThreadsWithDifferentProbesAgreeWithSerial) {
  for (const std::string type : {"ivf_flat", "ivf_pq"}) {
    std::vector<Neighbours> serial;
    for (int64_t probes = 1; probes <= 8; ++probes) {
      serial.push_back(testing::search(index(type), *queries_, 5, {.num_probes = probes}));
    }
    const NeighbourIndex fresh(indexed_->database(), indexed_->directory(type));
    std::atomic<int> differing = 0;
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (size_t i = 0; i < 16; ++i) {
          const size_t p = (i + static_cast<size_t>(t)) % 8;
          const SearchParameters parameters{.num_probes = static_cast<int64_t>(p + 1),
                                            .num_threads = 1 + t % 2};
          if (testing::search(fresh, *queries_, 5, parameters) != serial[p]) ++differing;
        }
      });
    }
    threads.clear();
    EXPECT_EQ(differing, 0) << type;
  }
}

TEST_F(TenThousand, LargerKBeginsWithSmallerK) {
  for (const std::string type : {"exact", "ivf_flat"}) {
    const Neighbours few = testing::search(index(type), *queries_, 3);
    const Neighbours many = testing::search(index(type), *queries_, 40);
    for (size_t x = 0; x < 300; ++x) {
      for (size_t i = 0; i < 3; ++i) ASSERT_EQ(few.ids[x * 3 + i], many.ids[x * 40 + i]);
    }
  }
}

TEST(NeighbourIndex, KLargerThanTheDatabaseLeavesTheRestMissing) {
  IndexedDatabase indexed(random_documents(40, 5), 8);
  const auto queries = indexed.new_queries(3);
  for (const std::string type : {"exact", "ivf_flat", "ivf_pq"}) {
    const NeighbourIndex index = indexed.index(index_config(type, 2), type);
    const Neighbours found = testing::search(index, queries, 50, {.num_probes = 2});
    testing::expect_well_formed(index, queries, found, 50);
    EXPECT_EQ(std::ranges::count(found.ids, kMissing), 3 * 10) << type;
  }
}

TEST(NeighbourIndex, ChunksWithoutAKeyAreNeverFound) {
  std::vector<testing::TestDocument> documents;
  for (int i = 0; i < 60; ++i) {
    const std::string id = std::to_string(i);
    documents.push_back(
        {"s", id,
         i % 3 == 0 ? "    wxyz    " : testing::random_text(12, static_cast<uint64_t>(i))});
  }
  IndexedDatabase indexed(documents, 8);
  // A key of zeros is what such chunks store.
  const std::vector<float> query(8, 0.0F);
  for (const std::string type : {"exact", "ivf_flat", "ivf_pq"}) {
    const NeighbourIndex index = indexed.index(index_config(type, 3), type);
    EXPECT_EQ(index.report().num_indexed, 60 * 3 - 20 * 2);
    const Neighbours found = testing::search(index, query, 180, {.num_probes = 3});
    testing::expect_well_formed(index, query, found, 180);
    EXPECT_EQ(std::ranges::count(found.ids, kMissing), 40) << type;
  }
}

TEST(NeighbourIndex, NothingAsked) {
  IndexedDatabase indexed(random_documents(40, 5), 8);
  for (const std::string type : {"exact", "ivf_flat"}) {
    const NeighbourIndex index = indexed.index(index_config(type, 2), type);
    EXPECT_TRUE(testing::search(index, indexed.new_queries(3), 0).ids.empty());
    EXPECT_TRUE(testing::search(index, {}, 5).ids.empty());
  }
}

TEST(NeighbourIndex, RefusesWrongSizes) {
  IndexedDatabase indexed(random_documents(40, 5), 8);
  const NeighbourIndex index = indexed.index(index_config("ivf_flat", 2));
  std::vector<int64_t> ids(5);
  std::vector<float> distances(5);
  const std::vector<float> query(8);
  EXPECT_THROW(index.search(std::span(query).first(7), 5, {}, ids, distances), Error);
  EXPECT_THROW(index.search(query, 4, {}, ids, distances), Error);
  EXPECT_THROW(index.search(query, 5, {}, ids, std::span(distances).first(4)), Error);
}

}  // namespace
}  // namespace retro
