// load_or_embed_keys: stored keys where the same chunk is stored, the same recipe elsewhere.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "retro/core/error.h"

#include "table_test_support.h"

namespace retro {
namespace {

using testing::ByteTokenizer;
using testing::TableFixture;

std::vector<float> key_of_text(const std::string& text) {
  testing::ClusterEmbedder embedder(12);
  std::vector<float> key(12);
  uint8_t has_key = 0;
  embedder.embed({&text, 1}, key, {&has_key, 1});
  return key;
}

class GridKeysTest : public ::testing::Test {
 protected:
  TableFixture fixture_{
      {{"db", "1", "abcdefghi"}, {"db", "2", "jklm    no"}, {"held", "3", "abcdxyz"}}};
  /// Chunks embedded while `body` runs.
  template <class Body>
  int64_t embedded_by(Body body) {
    const int64_t before = fixture_.embedder().pieces_read();
    body();
    return fixture_.embedder().pieces_read() - before;
  }
};

TEST_F(GridKeysTest, ChunksOfTheDatabaseAreNotEmbeddedAgain) {
  EXPECT_EQ(embedded_by([&] {
              const GridKeys keys = fixture_.keys(fixture_.database_grid());
              ASSERT_EQ(keys.keys.rows(), 6U);
              EXPECT_TRUE(std::ranges::equal(keys.keys.values<float>(),
                                             testing::all_keys(fixture_.database())));
              EXPECT_TRUE(std::ranges::equal(keys.has_key.values<uint8_t>(),
                                             std::vector<uint8_t>{1, 1, 1, 1, 0, 1}));
            }),
            0);
}

TEST_F(GridKeysTest, OthersAreEmbedded) {
  const auto& corpus = fixture_.corpus();
  const ChunkGrid all = corpus.grid(4);
  EXPECT_EQ(embedded_by([&] {
              const GridKeys keys = fixture_.keys(all);
              EXPECT_TRUE(std::ranges::equal(keys.keys.row<float>(0), key_of_text("abcd")));
              EXPECT_TRUE(std::ranges::equal(keys.keys.row<float>(6), key_of_text("abcd")));
              EXPECT_TRUE(std::ranges::equal(keys.keys.row<float>(7), key_of_text("xyz")));
            }),
            2);
}

TEST_F(GridKeysTest, AShiftedGridIsEmbedded) {
  const ChunkGrid shifted = fixture_.corpus().grid_of({"db"}, 4, 1);
  EXPECT_EQ(embedded_by([&] {
              const GridKeys keys = fixture_.keys(shifted);
              ASSERT_EQ(keys.keys.rows(), 6U);
              EXPECT_TRUE(std::ranges::equal(keys.keys.row<float>(0), key_of_text("abc")));
              EXPECT_TRUE(std::ranges::equal(keys.keys.row<float>(1), key_of_text("defg")));
              EXPECT_TRUE(std::ranges::equal(keys.keys.row<float>(2), key_of_text("hi")));
            }),
            6);
}

TEST_F(GridKeysTest, AnotherChunkLengthIsEmbedded) {
  EXPECT_EQ(embedded_by([&] { fixture_.keys(fixture_.corpus().grid_of({"db"}, 5)); }), 4);
}

// The same name with another text is another document.
TEST_F(GridKeysTest, ADocumentThatChangedIsEmbedded) {
  const testing::ScratchDirectory scratch;
  const testing::TestCorpus changed(scratch.path(),
                                    {{"db", "1", "abcdefgH"}, {"db", "2", "jklm    no"}});
  const ChunkGrid grid = changed.grid(4);
  EXPECT_EQ(embedded_by([&] {
              const GridKeys keys = fixture_.keys(grid);
              EXPECT_TRUE(std::ranges::equal(keys.keys.row<float>(1), key_of_text("efgH")));
            }),
            2);
}

TEST_F(GridKeysTest, AreMadeOnce) {
  const ChunkGrid grid = fixture_.held_out_grid();
  EXPECT_EQ(embedded_by([&] { fixture_.keys(grid); }), 2);
  EXPECT_EQ(embedded_by([&] { fixture_.keys(grid); }), 0);
  // Another grid in the same place replaces them.
  EXPECT_EQ(embedded_by([&] { fixture_.keys(fixture_.held_out_grid(1)); }), 2);
  EXPECT_EQ(fixture_.keys(fixture_.held_out_grid(1)).keys.rows(), 2U);
}

TEST_F(GridKeysTest, AreRecognisedByGridAndDatabase) {
  const ChunkGrid grid = fixture_.held_out_grid();
  const auto directory = fixture_.directory("keys");
  EXPECT_FALSE(has_grid_keys(grid, fixture_.database(), directory)) << "there are none";
  fixture_.keys(grid);
  EXPECT_TRUE(has_grid_keys(grid, fixture_.database(), directory));
  const ChunkGrid shifted = fixture_.held_out_grid(1);
  ASSERT_EQ(shifted.num_rows(), grid.num_rows());
  EXPECT_FALSE(has_grid_keys(shifted, fixture_.database(), directory));
  const TableFixture other({{"db", "1", "another database"}});
  EXPECT_FALSE(has_grid_keys(grid, other.database(), directory));
}

TEST_F(GridKeysTest, AnotherEmbedderIsRefused) {
  testing::ClusterEmbedder other(13);
  EXPECT_THAT(testing::error_of([&] {
                load_or_embed_keys(fixture_.held_out_grid(), fixture_.database(), ByteTokenizer(),
                                   other, fixture_.directory("keys"));
              }),
              ::testing::HasSubstr("clusters:13"));
}

TEST_F(GridKeysTest, AnotherTokenizerIsRefused) {
  EXPECT_THAT(testing::error_of([&] {
                load_or_embed_keys(fixture_.held_out_grid(), fixture_.database(),
                                   ByteTokenizer("others"), fixture_.embedder(),
                                   fixture_.directory("keys"));
              }),
              ::testing::HasSubstr("tokenizer"));
}

TEST_F(GridKeysTest, KilledAnywhereGivesTheSameBytes) {
  const ChunkGrid grid = fixture_.corpus().grid(4);
  fixture_.keys(grid, "clean");
  const auto clean = testing::tree_of(fixture_.directory("clean"));
  for (int call = 0; call < 100; ++call) {
    const int status = testing::run_in_child([&] {
      set_file_hook(testing::killer(call));
      fixture_.keys(grid, "killed");
    });
    fixture_.keys(grid, "killed");
    ASSERT_EQ(testing::tree_of(fixture_.directory("killed")), clean) << "killed at call " << call;
    std::filesystem::remove_all(fixture_.directory("killed"));
    if (testing::ended_well(status)) break;
    ASSERT_TRUE(testing::was_killed(status));
  }
}

}  // namespace
}  // namespace retro
