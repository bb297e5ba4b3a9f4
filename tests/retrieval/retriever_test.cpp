#include "retro/retrieval/retriever.h"

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

class RetrieverTest : public ::testing::Test {
 protected:
  IndexedDatabase indexed_{{{"s", "1", "abcdefgh    "}, {"s", "2", "ijklabcd"}}, 8};
  NeighbourIndex index_ = indexed_.index(index_config("exact"));
  Retriever retriever_{indexed_.database(), index_, indexed_.embedder()};
};

TEST_F(RetrieverTest, FindsTheTextItself) {
  const std::vector<std::string> texts{"efgh", "abcd"};
  const auto found = retriever_.retrieve(texts, 2);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0][0].chunk_id, 1);
  EXPECT_EQ(found[0][0].distance, 0.0F);
  EXPECT_EQ(found[1][0].chunk_id, 0);
  EXPECT_EQ(found[1][1].chunk_id, 4);
  EXPECT_EQ(found[1][1].distance, 0.0F);
}

TEST_F(RetrieverTest, FewerWhereTheDatabaseIsSmall) {
  const std::vector<std::string> texts{"efgh"};
  EXPECT_EQ(retriever_.retrieve(texts, 100)[0].size(), 4U) << "the chunk of spaces is not found";
  EXPECT_TRUE(retriever_.retrieve(texts, 0)[0].empty());
}

TEST_F(RetrieverTest, ATextWithoutAWordFindsNothing) {
  const std::vector<std::string> texts{"", "   ", "abcd"};
  const auto found = retriever_.retrieve(texts, 1);
  EXPECT_TRUE(found[0].empty());
  EXPECT_TRUE(found[1].empty());
  EXPECT_EQ(found[2].size(), 1U);
  EXPECT_TRUE(retriever_.retrieve({}, 3).empty());
}

TEST_F(RetrieverTest, AnotherEmbedderIsRefused) {
  testing::ClusterEmbedder other(9);
  const std::string error =
      testing::error_of([&] { Retriever(indexed_.database(), index_, other); });
  EXPECT_THAT(error, HasSubstr("clusters:8"));
  EXPECT_THAT(error, HasSubstr("clusters:9"));
}

TEST_F(RetrieverTest, AnIndexOfAnotherDatabaseIsRefused) {
  const RetrievalDatabase same_files(indexed_.database().directory());
  EXPECT_THROW(Retriever(same_files, index_, indexed_.embedder()), Error);
}

}  // namespace
}  // namespace retro
