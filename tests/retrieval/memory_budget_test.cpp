// A stated budget: what it chooses, what it refuses, and that pages of mapped files do not fill it.
#include "retro/retrieval/memory_budget.h"

#include <regex>

#include <gtest/gtest.h>

#include "retro/core/error.h"
#include "retro/core/memory.h"
#include "retro/retrieval/database_writer.h"
#include "retro/retrieval/index_plan.h"
#include "retro/retrieval/live_database.h"

#include "index_test_support.h"

namespace retro {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::index_config;
using testing::IndexedDatabase;
using testing::random_documents;
using ::testing::StartsWith;

/// A million of MiniLM's keys.
IndexedKeys million_keys() {
  IndexedKeys keys;
  keys.num_indexed = 1'000'000;
  keys.largest_shard = 1'000'000;
  keys.num_documents = 100'000;
  keys.key_width = 384;
  keys.key_storage = "float16";
  return keys;
}

/// The size after "at least" in a refusal.
MemoryBudget least_of(const std::string& refusal) {
  std::smatch match;
  EXPECT_TRUE(std::regex_search(refusal, match, std::regex("at least ([0-9]+ MB)"))) << refusal;
  return MemoryBudget::parse(match[1]);
}

TEST(MemoryBudget, SizesAreReadWithTheirUnits) {
  EXPECT_FALSE(MemoryBudget::parse("").is_limited());
  EXPECT_EQ(MemoryBudget::parse("2 GB").bytes(), 2'000'000'000);
  EXPECT_EQ(MemoryBudget::parse("1.5GB").bytes(), 1'500'000'000);
  EXPECT_EQ(MemoryBudget::parse("512 MiB").bytes(), 512 * 1024 * 1024);
  EXPECT_EQ(MemoryBudget::parse("1500000000").bytes(), 1'500'000'000);
  for (const std::string text : {"two", "2 XB", "-1 GB", "0", "GB", "2 GB!"}) {
    EXPECT_THAT(error_of([&] { MemoryBudget::parse(text); }), HasSubstr("`" + text + "`"));
  }
}

TEST(MemoryBudget, RefusedBuildNamesTheLeastAndTheLeastWorks) {
  const testing::ScratchDirectory scratch;
  const testing::TestCorpus corpus(scratch.path(), random_documents(600, 20));
  testing::ClusterEmbedder embedder(16);
  DatabaseConfig config = testing::database_config(4);
  const auto build = [&] {
    build_database(corpus.grid(4), testing::ByteTokenizer(), embedder, config,
                   scratch / "database");
  };
  config.memory_budget = "64 MB";
  const std::string refusal = error_of(build);
  EXPECT_THAT(refusal, HasSubstr("database.memory_budget is 64 MB"));
  EXPECT_THAT(refusal, HasSubstr("a block of 256 chunks"));
  EXPECT_EQ(embedder.pieces_read(), 0) << "refused at once";
  config.memory_budget = std::to_string(least_of(refusal).bytes());
  build();
  EXPECT_EQ(RetrievalDatabase(scratch / "database").num_chunks(), 600);
}

TEST(MemoryBudget, ContentDoesNotDependOnIt) {
  const testing::ScratchDirectory scratch;
  const testing::TestCorpus corpus(scratch.path(), random_documents(2000, 20));
  testing::ClusterEmbedder embedder(64);
  DatabaseConfig config = testing::database_config(4);
  for (const std::string budget : {"", "401 MB"}) {
    config.memory_budget = budget;
    build_database(corpus.grid(4), testing::ByteTokenizer(), embedder, config,
                   scratch / ("database" + budget));
  }
  EXPECT_EQ(testing::tree_of(scratch / "database"), testing::tree_of(scratch / "database401 MB"));
}

TEST(MemoryBudget, IndexTypeFollowsIt) {
  IndexedKeys keys = million_keys();
  keys.num_indexed = keys.largest_shard = 200'000;
  const IndexConfig config = index_config("auto");
  EXPECT_EQ(plan_index(config, keys, {}).type, "ivf_flat");
  const IndexPlan coded = plan_index(config, keys, MemoryBudget(700'000'000));
  EXPECT_EQ(coded.type, "ivf_pq");
  EXPECT_THAT(coded.reason, HasSubstr("database.memory_budget has no room"));
}

TEST(MemoryBudget, TightOnesGetCoarserCodes) {
  IndexedKeys keys = million_keys();
  keys.num_indexed = 10'000'000;
  const IndexConfig config = index_config("auto");
  EXPECT_EQ(plan_index(config, keys, {}).code_width, 4);
  EXPECT_EQ(plan_index(config, keys, MemoryBudget(1'300'000'000)).code_width, 8);
}

TEST(MemoryBudget, TrainingSampleIsCutToIt) {
  const IndexedKeys keys = million_keys();
  const IndexConfig config = index_config("auto");
  const IndexPlan free = plan_index(config, keys, {});
  EXPECT_EQ(free.training_points, 256 * free.num_lists);
  const MemoryBudget budget(1'000'000'000);
  const IndexPlan cut = plan_index(config, keys, budget);
  EXPECT_LT(cut.training_points, free.training_points);
  EXPECT_GE(cut.training_points, 39 * cut.num_lists);
  EXPECT_LT(cut.training_points * 384 * 4, budget.bytes());
}

TEST(MemoryBudget, EveryIndexRefusalNamesALeastThatWorks) {
  const IndexedKeys keys = million_keys();
  for (const std::string type : {"auto", "exact", "ivf_flat", "ivf_pq"}) {
    for (const int64_t num_lists : {0, 500}) {
      const IndexConfig config = index_config(type, num_lists);
      const std::string refusal =
          error_of([&] { plan_index(config, keys, MemoryBudget(300'000'000)); });
      ASSERT_THAT(refusal, HasSubstr("database.memory_budget is 300 MB")) << type;
      EXPECT_NO_THROW(plan_index(config, keys, least_of(refusal))) << type << ": " << refusal;
    }
  }
}

TEST(MemoryBudget, IndexIsBuiltWithinABudgetThatBinds) {
  IndexedDatabase indexed(random_documents(3000, 20), 256);
  RetrievalDatabase database(indexed.directory("database"));
  const IndexConfig config = index_config("ivf_pq");
  const IndexPlan free = plan_index(config, keys_of(database), {});
  const MemoryBudget budget =
      least_of(error_of([&] { plan_index(config, keys_of(database), MemoryBudget(1'000'000)); }));
  database.set_memory_budget(budget);
  const IndexReport report = build_index(database, config, 7, 1, indexed.directory("index"));
  EXPECT_LT(report.num_lists, free.num_lists);
  EXPECT_THAT(report.reason, HasSubstr("as database.memory_budget allows"));
  EXPECT_GE(report.recall_at_10, 0.9);
}

TEST(MemoryBudget, HoldsForEveryStateOfALiveDatabase) {
  IndexedDatabase indexed(random_documents(20, 5), 8);
  indexed.index(index_config("exact"));
  const MemoryBudget budget(900'000'000);
  LiveDatabase live({indexed.directory("database"), indexed.directory("index")}, budget);
  EXPECT_EQ(live.newest()->database->memory_budget().bytes(), budget.bytes());
}

// Where most rows are of deleted documents, the sample is drawn from the others.
TEST(MemoryBudget, SamplesOfFewLiveChunksAreWholeAndDoNotDependOnThreads) {
  const IndexedDatabase indexed(random_documents(6000, 2), 12);
  const DatabasePlace place{indexed.directory("database"), indexed.directory("index")};
  std::vector<int64_t> removed;
  for (int64_t d = 0; d < 3000; ++d) {
    if (d % 10 != 0) removed.push_back(d);
  }
  DatabaseWriter(place).remove(removed);
  const RetrievalDatabase database(place.database);
  EXPECT_LT(database.num_indexable(), 700);
  const auto build = [&](const std::string& name, int num_threads) {
    const IndexReport report =
        build_index(database, index_config("ivf_flat", 4), 7, num_threads, indexed.directory(name));
    EXPECT_EQ(report.recall_queries, 200);
    EXPECT_GE(report.recall_at_10, 0.95);
    return testing::slurp(indexed.directory(name) / "trained.faiss");
  };
  EXPECT_EQ(build("one", 1), build("two", 2));
}

// 80 MB of keys are read under a budget of 40 MB beyond what the process holds.
TEST(MemoryBudget, PagesOfKeysAreLetGoOf) {
  IndexedDatabase indexed(random_documents(10'000, 100), 2048);
  RetrievalDatabase database(indexed.directory("database"));
  const auto growth_by_reading = [&] {
    return_freed_memory();
    const int64_t before = resident_bytes();
    int64_t most = before;
    std::vector<float> keys(100 * 2048);
    for (int64_t row = 0; row < 10'000; row += 100) {
      database.copy_row_keys(row, row + 100, keys);
      most = std::max(most, resident_bytes());
    }
    return most - before;
  };
  EXPECT_GT(growth_by_reading(), 60'000'000) << "without a budget the pages stay";
  const int64_t full = resident_bytes();
  database.release_memory();
  EXPECT_LT(resident_bytes(), full - 60'000'000);
  database = RetrievalDatabase(indexed.directory("database"));
  database.set_memory_budget(MemoryBudget(resident_bytes() + 40'000'000));
  EXPECT_LT(growth_by_reading(), 40'000'000);
}

}  // namespace
}  // namespace retro
