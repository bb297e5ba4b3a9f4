// The index as files: equal for any thread count, resumable, bound to its database.
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "retro/core/error.h"

#include "index_test_support.h"

namespace retro {
namespace {

namespace fs = std::filesystem;
using testing::error_of;
using ::testing::HasSubstr;
using testing::index_config;
using testing::IndexedDatabase;
using testing::random_documents;
using testing::slurp;
using testing::spill;

/// The report's measured times are not part of what is compared.
std::map<std::string, std::string> lists_of(const fs::path& directory) {
  auto tree = testing::tree_of(directory);
  tree.erase("index.json");
  return tree;
}

TEST(IndexState, FilesDoNotDependOnThreads) {
  const IndexedDatabase indexed(random_documents(3000, 20), 12, "float16", 1000);
  for (const std::string type : {"ivf_flat", "ivf_pq"}) {
    indexed.index(index_config(type), type + "1", 1);
    indexed.index(index_config(type), type + "2", 2);
    const auto lists = lists_of(indexed.directory(type + "1"));
    const size_t num_rotations = type == "ivf_pq" ? 1 : 0;
    EXPECT_EQ(lists.size(), 2U + 3U + num_rotations)
        << "the empty index, its origin and three shards";
    EXPECT_EQ(lists, lists_of(indexed.directory(type + "2"))) << type;
  }
}

TEST(IndexState, SeedChangesTheLists) {
  const IndexedDatabase indexed(random_documents(500, 20), 12);
  build_index(indexed.database(), index_config("ivf_flat"), 1, 1, indexed.directory("a"));
  build_index(indexed.database(), index_config("ivf_flat"), 2, 1, indexed.directory("b"));
  EXPECT_NE(slurp(indexed.directory("a") / "trained.faiss"),
            slurp(indexed.directory("b") / "trained.faiss"));
}

TEST(IndexState, ExactKeepsNoKeysOfItsOwn) {
  const IndexedDatabase indexed(random_documents(500, 20), 12);
  indexed.index(index_config("exact"));
  for (const auto& [name, content] : testing::tree_of(indexed.directory("index"))) {
    EXPECT_LT(content.size(), 2000U) << name;
  }
}

TEST(IndexState, StoredReportIsTheReturnedOne) {
  const IndexedDatabase indexed(random_documents(800, 20), 12);
  const IndexReport built =
      build_index(indexed.database(), index_config("ivf_flat"), 7, 1, indexed.directory("index"));
  const IndexReport read = NeighbourIndex(indexed.database(), indexed.directory("index")).report();
  EXPECT_EQ(read.type, built.type);
  EXPECT_EQ(read.reason, built.reason);
  EXPECT_EQ(read.num_indexed, built.num_indexed);
  EXPECT_EQ(read.num_lists, built.num_lists);
  EXPECT_EQ(read.num_probes, built.num_probes);
  EXPECT_EQ(read.recall_queries, 200);
  EXPECT_EQ(read.recall_at_10, built.recall_at_10);
  EXPECT_EQ(read.recall_1_in_10, built.recall_1_in_10);
  EXPECT_EQ(read.size_bytes,
            static_cast<int64_t>(fs::file_size(indexed.directory("index") / "lists_000000.faiss")));
  EXPECT_EQ(read.operating_points.size(), built.operating_points.size());
}

TEST(IndexState, ReportNamesBothRecallsAndTheChoice) {
  const IndexedDatabase indexed(random_documents(800, 20), 12);
  const std::string text = format_report(indexed.index(index_config("ivf_flat")).report());
  EXPECT_THAT(text, HasSubstr("set overlap with the exact 10"));
  EXPECT_THAT(text, HasSubstr("1-in-10 (exact nearest among 10)"));
  EXPECT_THAT(text, HasSubstr("<- chosen"));
}

TEST(IndexState, WhatIsNotMeasuredIsNotClaimed) {
  const IndexedDatabase indexed(random_documents(800, 20), 12);
  IndexConfig config = index_config("ivf_flat", 16);
  config.recall_queries = 0;
  EXPECT_THAT(error_of([&] { indexed.index(config); }), HasSubstr("index.num_probes to be set"));
  config.num_probes = 3;
  const NeighbourIndex index = indexed.index(config);
  EXPECT_EQ(index.report().num_probes, 3);
  EXPECT_TRUE(std::isnan(index.report().recall_at_10)) << "as stored";
  EXPECT_THAT(format_report(index.report()),
              HasSubstr("(set overlap with the exact 10) not measured"));
  EXPECT_TRUE(std::isnan(measure_recall(index, 0, 7, 1).recall_at_10));
  config.type = "ivf_pq";
  EXPECT_THAT(error_of([&] { indexed.index(config, "coded"); }), HasSubstr("index.rerank_factor"));
  config = index_config("exact");
  config.recall_queries = 0;
  EXPECT_EQ(indexed.index(config, "exact").report().recall_at_10, 1.0);
}

TEST(IndexState, GivenProbesAreKept) {
  const IndexedDatabase indexed(random_documents(800, 20), 12);
  IndexConfig config = index_config("ivf_flat", 16);
  config.num_probes = 3;
  const IndexReport report = indexed.index(config).report();
  EXPECT_EQ(report.num_probes, 3);
  EXPECT_EQ(report.operating_points.size(), 1U);
}

TEST(IndexState, GivenFactorAndCodeWidthAreKept) {
  const IndexedDatabase indexed(random_documents(800, 20), 12);
  IndexConfig config = index_config("ivf_pq", 8);
  config.rerank_factor = 7;
  config.code_width = 2;
  const IndexReport report = indexed.index(config).report();
  EXPECT_EQ(report.rerank_factor, 7);
  EXPECT_EQ(report.code_width, 2);
  for (const OperatingPoint& point : report.operating_points) EXPECT_EQ(point.rerank_factor, 7);
}

TEST(IndexState, GraphDoesNotDependOnThreads) {
  const IndexedDatabase indexed(random_documents(3000, 20), 12, "float16", 1000);
  for (const std::string type : {"ivf_flat", "ivf_pq"}) {
    IndexConfig config = index_config(type, 100);
    config.coarse = "hnsw";
    EXPECT_TRUE(indexed.index(config, type + "1", 1).report().has_graph);
    indexed.index(config, type + "2", 2);
    EXPECT_EQ(lists_of(indexed.directory(type + "1")), lists_of(indexed.directory(type + "2")));
  }
}

TEST(IndexState, DamagedOrForeignRotationIsRefused) {
  const IndexedDatabase indexed(random_documents(800, 20), 12);
  indexed.index(index_config("ivf_pq", 8), "a");
  build_index(indexed.database(), index_config("ivf_pq", 8), 8, 1, indexed.directory("b"));
  const fs::path path = indexed.directory("a") / "rotation.bin";
  const std::string rotation = slurp(path);
  const auto error_with = [&](const std::string& content) {
    spill(path, content);
    return error_of(
        [&] { const NeighbourIndex index(indexed.database(), indexed.directory("a")); });
  };
  EXPECT_THAT(error_with(testing::damaged_at(rotation, rotation.size() - 9)[0]),
              HasSubstr("rotation.bin"));
  EXPECT_THAT(error_with(rotation.substr(0, rotation.size() / 2)), HasSubstr("rotation.bin"));
  EXPECT_THAT(error_with(slurp(indexed.directory("b") / "rotation.bin")),
              HasSubstr("rotation.bin"));
}

TEST(IndexState, AnotherDatabaseIsRefused) {
  IndexedDatabase indexed(random_documents(100, 20), 12);
  indexed.index(index_config("ivf_flat"));
  const IndexedDatabase other(random_documents(100, 20, 5), 12);
  const std::string error =
      error_of([&] { const NeighbourIndex index(other.database(), indexed.directory("index")); });
  EXPECT_THAT(error, HasSubstr(other.database().version()));
  EXPECT_THAT(error, HasSubstr("run `retro database build` again"));
}

TEST(IndexState, BuildReplacesAStaleIndex) {
  const IndexedDatabase indexed(random_documents(100, 20), 12);
  const IndexedDatabase other(random_documents(100, 20, 5), 12);
  indexed.index(index_config("ivf_flat"));
  build_index(other.database(), index_config("ivf_flat"), 7, 1, indexed.directory("index"));
  EXPECT_NO_THROW(NeighbourIndex(other.database(), indexed.directory("index")));
}

TEST(IndexState, DamageIsRefused) {
  const IndexedDatabase indexed(random_documents(300, 20), 12);
  for (const std::string type : {"ivf_flat", "ivf_pq"}) {
    indexed.index(index_config(type), type);
    const fs::path directory = indexed.directory(type);
    const std::string lists = slurp(directory / "lists_000000.faiss");
    const auto error_with = [&](const std::string& content) {
      spill(directory / "lists_000000.faiss", content);
      return error_of([&] { const NeighbourIndex index(indexed.database(), directory); });
    };
    EXPECT_THAT(error_with(testing::damaged_at(lists, lists.size() / 2)[0]), HasSubstr("hash"));
    EXPECT_THAT(error_with(lists.substr(0, lists.size() / 2)), HasSubstr("hash"));
    fs::remove(directory / "index.json");
    EXPECT_THAT(error_with(lists), HasSubstr("index.json is missing"));
  }
}

TEST(IndexState, SecondBuildDoesNothing) {
  const IndexedDatabase indexed(random_documents(300, 20), 12);
  indexed.index(index_config("ivf_flat"));
  const auto before = testing::tree_of(indexed.directory("index"));
  indexed.index(index_config("ivf_flat"));
  EXPECT_EQ(testing::tree_of(indexed.directory("index")), before) << "times included";
}

TEST(IndexState, KilledAnywhereGivesTheSameLists) {
  const IndexedDatabase indexed(random_documents(300, 20), 12, "float32", 100);
  indexed.index(index_config("ivf_flat", 4), "clean", 1);
  const auto clean = lists_of(indexed.directory("clean"));
  const fs::path directory = indexed.directory("killed");
  int num_kills = 0;
  for (bool is_done = false; !is_done; ++num_kills) {
    ASSERT_LT(num_kills, 200);
    const int status = testing::run_in_child([&] {
      set_file_hook(testing::killer(num_kills));
      build_index(indexed.database(), index_config("ivf_flat", 4), 7, 1, directory);
    });
    is_done = testing::ended_well(status);
    ASSERT_TRUE(is_done || testing::was_killed(status));
    build_index(indexed.database(), index_config("ivf_flat", 4), 7, 1, directory);
    ASSERT_EQ(lists_of(directory), clean) << "killed at call " << num_kills;
    fs::remove_all(directory);
  }
  EXPECT_GT(num_kills, 20);
}

TEST(IndexState, ImpossibleConfigsAreRefused) {
  const IndexedDatabase indexed(random_documents(50, 20), 12);
  IndexConfig config = index_config("hnsw");
  EXPECT_THAT(error_of([&] { indexed.index(config); }), HasSubstr("hnsw"));
  config = index_config("ivf_pq");
  config.rerank_factor = -1;
  EXPECT_THAT(error_of([&] { indexed.index(config); }), HasSubstr("rerank_factor"));
  config = index_config("ivf_pq");
  config.code_width = 3;
  EXPECT_THAT(error_of([&] { indexed.index(config); }), HasSubstr("code_width is 3"));
  config = index_config("ivf_flat", -1);
  EXPECT_THAT(error_of([&] { indexed.index(config); }), HasSubstr("num_lists"));
}

}  // namespace
}  // namespace retro
