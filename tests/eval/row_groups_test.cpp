#include "retro/eval/row_groups.h"

#include <map>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "data_layer/tiny_corpus.h"

namespace retro {
namespace {

using testing::ByteTokenizer;
using testing::TemporaryDirectory;

/// Two sources; the documents of "linux" have a field.
class RowGroupsTest : public ::testing::Test {
 protected:
  RowGroupsTest() : corpus_(build(directory_.path())) {}

  static std::filesystem::path build(const std::filesystem::path& directory) {
    write_file(directory / "linux.jsonl", R"({"id": "a", "text": "abcdefghij", "change": "new"})"
                                          "\n"
                                          R"({"id": "b", "text": "abcd", "change": "changed"})"
                                          "\n"
                                          R"({"id": "c", "text": "abcde", "change": "new"})"
                                          "\n"
                                          R"({"id": "d", "text": "abcdefg"})"
                                          "\n");
    write_file(directory / "wiki.jsonl", R"({"id": "a", "text": "wxyzwxyz"})"
                                         "\n");
    CorpusConfig config;
    for (const std::string name : {"linux", "wiki"}) {
      SourceConfig source;
      source.name = name;
      source.path = (directory / (name + ".jsonl")).string();
      config.sources.push_back(source);
    }
    build_token_corpus(config, ByteTokenizer(), 0, 1, directory / "corpus");
    return directory / "corpus";
  }

  ChunkGrid grid() const {
    std::vector<int64_t> all(static_cast<size_t>(corpus_.num_documents()));
    std::iota(all.begin(), all.end(), 0);
    return {corpus_, all, 4};
  }

  TemporaryDirectory directory_;
  TokenCorpus corpus_;
};

TEST_F(RowGroupsTest, SourcesPartsAndAll) {
  const auto groups = row_groups(grid(), "change", 0);
  std::vector<std::pair<std::string, std::string>> names;
  std::vector<std::vector<int64_t>> rows;
  for (const RowGroup& group : groups) {
    names.emplace_back(group.source, group.part);
    rows.push_back(group.rows);
  }
  EXPECT_EQ(names,
            (std::vector<std::pair<std::string, std::string>>{
                {"linux", ""}, {"linux", "changed"}, {"linux", "new"}, {"wiki", ""}, {"all", ""}}));
  EXPECT_EQ(rows[0], (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(rows[1], (std::vector<int64_t>{3}));
  EXPECT_EQ(rows[2], (std::vector<int64_t>{0, 1, 2, 4, 5}));
  EXPECT_EQ(rows[3], (std::vector<int64_t>{8, 9}));
  EXPECT_EQ(rows[4], (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST_F(RowGroupsTest, EveryRowIsInOneSourceAndInAll) {
  for (const int64_t cap : {0, 1, 2, 9}) {
    const auto groups = row_groups(grid(), "change", cap);
    std::map<int64_t, int> in_sources;
    for (const RowGroup& group : groups) {
      if (group.source == "all" || !group.part.empty()) continue;
      for (const int64_t row : group.rows) ++in_sources[row];
    }
    EXPECT_EQ(in_sources.size(), groups.back().rows.size());
    for (const auto& [row, count] : in_sources) EXPECT_EQ(count, 1) << row;
  }
}

TEST_F(RowGroupsTest, TheCapKeepsTheFirstChunksOfEachDocument) {
  EXPECT_EQ(row_groups(grid(), "", 1).back().rows, (std::vector<int64_t>{0, 3, 4, 6, 8}));
  EXPECT_EQ(row_groups(grid(), "", 2).back().rows,
            (std::vector<int64_t>{0, 1, 3, 4, 5, 6, 7, 8, 9}));
}

TEST_F(RowGroupsTest, OnAShiftedGridTheCapCoversTheSameTokens) {
  const ChunkGrid shifted(corpus_, {0}, 4, 3);
  // Chunks of document a: token 0; 1-4; 5-8; 9. The cap of one chunk means tokens 0 to 3.
  EXPECT_TRUE(is_row_wanted(shifted, 0, 1));
  EXPECT_TRUE(is_row_wanted(shifted, 1, 1));
  EXPECT_FALSE(is_row_wanted(shifted, 2, 1));
}

}  // namespace
}  // namespace retro
