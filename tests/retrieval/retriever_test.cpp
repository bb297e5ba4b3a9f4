#include "retro/retrieval/retriever.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "retro/core/error.h"

#include "life_test_support.h"

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

/// Documents of all chunks in the one list that `query` reads.
std::vector<int64_t> documents_in_list(const DatabasePlace& place,
                                       const std::vector<float>& query) {
  const RetrievalDatabase database(place.database);
  const NeighbourIndex index(database, place.index);
  const testing::Neighbours found = testing::search(index, query, database.num_chunks());
  std::vector<int64_t> documents;
  for (const int64_t id : found.ids) {
    if (id != kMissing) documents.push_back(database.document_of(id));
  }
  return documents;
}

// Deleted chunks fill the list that a query reads: it has its k from the others.
TEST(RetrieverAfterDeletion, GoesOnWhereTheNearestListIsDeleted) {
  for (const std::string type : {"ivf_flat", "ivf_pq"}) {
    testing::LivingDatabase living(testing::random_documents(400, 1), type);
    const DatabasePlace place = living.place();
    IndexConfig config = index_config(type, 4);
    config.num_probes = 1;
    config.rerank_factor = 20;
    build_index(RetrievalDatabase(place.database), config, 7, 1, place.index);
    const std::vector<float> query = living.key_of("alpha");
    const std::vector<int64_t> near = documents_in_list(place, query);
    ASSERT_GT(near.size(), 20U);
    DatabaseWriter(place).remove(near);
    const RetrievalDatabase database(place.database);
    const NeighbourIndex index(database, place.index);
    Retriever retriever(database, index, living.embedder());
    const std::vector<std::string> texts{"alpha"};
    constexpr size_t kMany = 60;  // for so many, so small a database is scanned
    std::vector<int64_t> expected(kMany);
    std::vector<float> distances(kMany);
    exact_database_search(database, query, kMany, {}, 1, expected, distances);
    const auto found = retriever.retrieve(texts, kMany);
    ASSERT_EQ(found[0].size(), kMany) << type;
    for (size_t i = 0; i < kMany; ++i) EXPECT_EQ(found[0][i].chunk_id, expected[i]) << type;
    EXPECT_EQ(retriever.retrieve(texts, 5)[0].size(), 5U) << type;
    EXPECT_EQ(std::ssize(retriever.retrieve(texts, 400)[0]), database.num_indexable())
        << type << ": as many as there are";
  }
}

}  // namespace
}  // namespace retro
