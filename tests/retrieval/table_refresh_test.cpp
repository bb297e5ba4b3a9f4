// A neighbour table brought up to date equals one computed anew.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "retro/retrieval/neighbour_table.h"

#include "life_test_support.h"

namespace retro {
namespace {

using testing::LivingDatabase;
using testing::raw_document;

class TableRefresh : public ::testing::TestWithParam<const char*> {
 protected:
  std::filesystem::path path(const std::string& name) const { return living_.directory() / name; }

  /// Refreshes "table", builds "anew", and compares every value.
  NeighbourTableSummary expect_equal_to_anew(Exclusion exclusion) {
    LiveDatabase live(living_.place());
    const auto snapshot = live.newest();
    const GridKeys keys = open_grid_keys(grid_, *snapshot->database, path("keys"));
    const auto refreshed =
        refresh_neighbour_table(grid_, keys, *snapshot->index, exclusion, 5, 1, path("table"));
    std::filesystem::remove_all(path("anew"));
    build_neighbour_table(grid_, keys, *snapshot->index, exclusion, 5, 1, path("anew"));
    const std::string version = snapshot->database->version();
    const NeighbourTable table(path("table"), version, grid_.hash());
    const NeighbourTable anew(path("anew"), version, grid_.hash());
    for (int64_t row = 0; row < grid_.num_rows(); ++row) {
      EXPECT_TRUE(std::ranges::equal(table.ids(row), anew.ids(row))) << "row " << row;
      EXPECT_TRUE(std::ranges::equal(table.distances(row), anew.distances(row))) << "row " << row;
    }
    return refreshed;
  }

  void build_first(Exclusion exclusion) {
    const RetrievalDatabase database(living_.place().database);
    const NeighbourIndex index(database, living_.place().index);
    const GridKeys keys =
        load_or_embed_keys(grid_, database, living_.tokenizer(), living_.embedder(), path("keys"));
    build_neighbour_table(grid_, keys, index, exclusion, 5, 1, path("table"));
  }

  LivingDatabase living_{testing::random_documents(300, 5), GetParam(), 120};
  testing::TestCorpus corpus_{living_.directory(), testing::random_documents(300, 5), "queries"};
  ChunkGrid grid_ = corpus_.grid(LivingDatabase::kChunkLength);
};

TEST_P(TableRefresh, EqualsAFullRecompute) {
  for (const Exclusion exclusion : {Exclusion::kDocument, Exclusion::kGroup, Exclusion::kNone}) {
    std::filesystem::remove_all(path("table"));
    build_first(exclusion);
    living_.add({raw_document("x" + exclusion_name(exclusion), testing::random_text(80, 3))});
    expect_equal_to_anew(exclusion);
    living_.remove("s", std::to_string(3 + static_cast<int>(exclusion)));
    expect_equal_to_anew(exclusion);
    living_.add({raw_document("y" + exclusion_name(exclusion), testing::random_text(90, 4))});
    living_.remove("s", std::to_string(13 + static_cast<int>(exclusion)));
    expect_equal_to_anew(exclusion);
    living_.compact();
    expect_equal_to_anew(exclusion);
  }
}

TEST_P(TableRefresh, ATableOfAnotherStateIsRefusedUntilRefreshed) {
  build_first(Exclusion::kDocument);
  living_.add({raw_document("x", "hello world")});
  const RetrievalDatabase database(living_.place().database);
  EXPECT_THROW(NeighbourTable(path("table"), database.version(), grid_.hash()), Error);
  expect_equal_to_anew(Exclusion::kDocument);
  EXPECT_NO_THROW(NeighbourTable(path("table"), database.version(), grid_.hash()));
}

// A copy is put back and goes another way: the ids given out since mean other chunks.
TEST_P(TableRefresh, ATableOfAnAbandonedStateIsBuiltAnew) {
  namespace fs = std::filesystem;
  build_first(Exclusion::kDocument);
  fs::copy(living_.place().database, path("kept"), fs::copy_options::recursive);
  living_.add({raw_document("x", testing::random_text(80, 3))});
  expect_equal_to_anew(Exclusion::kDocument);
  fs::remove_all(living_.place().database);
  fs::copy(path("kept"), living_.place().database, fs::copy_options::recursive);
  living_.add({raw_document("y", testing::random_text(80, 8))});
  expect_equal_to_anew(Exclusion::kDocument);
}

INSTANTIATE_TEST_SUITE_P(Types, TableRefresh, ::testing::Values("exact", "ivf_flat"),
                         [](const auto& type) { return std::string(type.param); });

}  // namespace
}  // namespace retro
