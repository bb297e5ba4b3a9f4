#include "retro/retrieval/neighbour_filter.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "retro/core/error.h"

#include "index_test_support.h"

namespace retro {
namespace {

using testing::index_config;
using testing::IndexedDatabase;
using testing::Neighbours;
using testing::TestDocument;

Neighbours filtered(const NeighbourIndex& index, const std::vector<float>& queries,
                    const std::vector<QueryOrigin>& query_origins, Exclusion exclusion, int64_t k,
                    const SearchParameters& parameters = {}) {
  const OriginTable origins(index.database());
  const size_t size = query_origins.size() * static_cast<size_t>(k);
  Neighbours found{std::vector<int64_t>(size, 77), std::vector<float>(size, 77)};
  filtered_search(index, origins, queries, query_origins, exclusion, k, parameters, found.ids,
                  found.distances);
  return found;
}

/// Key of a database chunk.
std::vector<float> key_of(const RetrievalDatabase& database, int64_t chunk_id) {
  std::vector<float> key(static_cast<size_t>(database.key_width()));
  database.copy_keys(chunk_id, chunk_id + 1, key);
  return key;
}

/// Chunks 0..8: three documents; "abcd" stands twice in the first and once in the second and third.
/// First and third are one work.
const std::vector<TestDocument> kCopies{{"s", "1", "abcdefghabcd", "work"},
                                        {"s", "2", "ijklabcdmnop"},
                                        {"t", "1", "qrstuvwxabcd", "work"}};

const DocumentInfo kFirst{.id = "1", .title = "", .source = "s", .group = "work", .fields = "{}"};

const std::vector<std::string> kTypes{"exact", "ivf_flat", "ivf_pq"};

TEST(NeighbourFilter, CopiesInOtherDocumentsStay) {
  const IndexedDatabase indexed(kCopies, 8);
  for (const std::string& type : kTypes) {
    const NeighbourIndex index = indexed.index(index_config(type, 2), type);
    const auto query = key_of(indexed.database(), 0);
    const Neighbours all = filtered(index, query, {{0, 0}}, Exclusion::kNone, 4);
    EXPECT_EQ(all.ids, (std::vector<int64_t>{0, 2, 4, 8})) << "no exclusion: itself first";
    EXPECT_EQ(all.distances, (std::vector<float>{0, 0, 0, 0}));
    const Neighbours others = filtered(index, query, {{0, 0}}, Exclusion::kDocument, 2);
    EXPECT_EQ(others.ids, (std::vector<int64_t>{4, 8})) << type;
    EXPECT_EQ(others.distances, (std::vector<float>{0, 0}));
    const QueryOrigin origin = OriginTable(indexed.database()).origin(kFirst);
    const Neighbours group = filtered(index, query, {origin}, Exclusion::kGroup, 1);
    EXPECT_EQ(group.ids, (std::vector<int64_t>{4})) << "the other version goes with the group";
  }
}

TEST(NeighbourFilter, OriginsOfDocuments) {
  const IndexedDatabase indexed(kCopies, 8);
  const OriginTable origins(indexed.database());
  DocumentInfo document;
  document.source = "t";
  document.id = "1";
  document.group = "work";
  const QueryOrigin third = origins.origin(document);
  EXPECT_EQ(third.document, 2);
  EXPECT_FALSE(origins.is_allowed(third, 8, Exclusion::kDocument));
  EXPECT_TRUE(origins.is_allowed(third, 0, Exclusion::kDocument));
  EXPECT_FALSE(origins.is_allowed(third, 0, Exclusion::kGroup));
  EXPECT_TRUE(origins.is_allowed(third, 3, Exclusion::kGroup));
  EXPECT_TRUE(origins.is_allowed(third, 8, Exclusion::kNone));
  document.id = "a held-out document of the same work";
  const QueryOrigin held_out = origins.origin(document);
  EXPECT_EQ(held_out.document, -1);
  EXPECT_TRUE(origins.is_allowed(held_out, 8, Exclusion::kDocument));
  EXPECT_FALSE(origins.is_allowed(held_out, 8, Exclusion::kGroup));
  document.group = "an unknown work";
  EXPECT_EQ(origins.origin(document).group, -1);
  EXPECT_TRUE(origins.is_allowed(origins.origin(document), 8, Exclusion::kGroup));
}

TEST(NeighbourFilter, FewerThanKLeftAreMissing) {
  const IndexedDatabase indexed(kCopies, 8);
  for (const std::string& type : kTypes) {
    const NeighbourIndex index = indexed.index(index_config(type, 2), type);
    const auto query = key_of(indexed.database(), 3);
    const Neighbours found = filtered(index, query, {{1, 1}}, Exclusion::kDocument, 10);
    EXPECT_EQ(std::ranges::count(found.ids, kMissing), 4) << type << ": six chunks are left";
    EXPECT_NE(found.ids[5], kMissing);
    EXPECT_EQ(found.ids[6], kMissing);
    EXPECT_EQ(found.distances[6], std::numeric_limits<float>::infinity());
  }
}

TEST(NeighbourFilter, OneDocumentLeavesNothing) {
  const IndexedDatabase indexed({{"s", "1", "abcdefghijkl"}}, 8);
  const NeighbourIndex index = indexed.index(index_config("ivf_flat", 2));
  const auto query = key_of(indexed.database(), 0);
  EXPECT_EQ(filtered(index, query, {{0, 0}}, Exclusion::kDocument, 2).ids,
            (std::vector<int64_t>{-1, -1}));
}

/// A long document of 600 equal chunks among short ones: its own chunks fill whatever a plain
/// search returns.
std::vector<TestDocument> one_monotonous_among(int64_t others) {
  std::string text;
  for (int i = 0; i < 600; ++i) text += "abcd";
  std::vector<TestDocument> documents{{"s", "long", text}};
  for (const auto& document : testing::random_documents(others, 5)) documents.push_back(document);
  return documents;
}

TEST(NeighbourFilter, FetchesOnUntilKAreFound) {
  const IndexedDatabase indexed(one_monotonous_among(6000), 12);
  const auto query = key_of(indexed.database(), 0);
  const auto expected = testing::nearest_in_double(testing::all_keys(indexed.database()), query, 5,
                                                   [&](int64_t id) { return id >= 600; });
  for (const std::string& type : kTypes) {
    const NeighbourIndex index = indexed.index(index_config(type), type);
    const Neighbours found =
        filtered(index, query, {{0, 0}}, Exclusion::kDocument, 5, {.num_probes = 1});
    for (size_t i = 0; i < 5; ++i) EXPECT_GE(found.ids[i], 600) << type;
    // 64 lists and more are read by the time 1,280 are fetched: the nearest is among them.
    EXPECT_NEAR(double{found.distances[0]}, expected[0].first, 1e-5 * expected[0].first) << type;
  }
}

// The own document is nearly everything: only an exact scan finds the few that are left.
TEST(NeighbourFilter, ScansExactlyWhereNearlyNothingPasses) {
  const IndexedDatabase indexed(one_monotonous_among(7), 12);
  const auto query = key_of(indexed.database(), 0);
  const auto expected = testing::nearest_in_double(testing::all_keys(indexed.database()), query, 7,
                                                   [](int64_t id) { return id >= 600; });
  for (const std::string& type : kTypes) {
    const NeighbourIndex index = indexed.index(index_config(type, 8), type);
    const Neighbours found =
        filtered(index, query, {{0, 0}}, Exclusion::kDocument, 8, {.num_probes = 1});
    for (size_t i = 0; i < 7; ++i) EXPECT_EQ(found.ids[i], expected[i].second) << type;
    EXPECT_EQ(found.ids[7], kMissing);
  }
}

TEST(NeighbourFilter, ExactEqualsBruteForceWithoutTheOwnDocument) {
  const IndexedDatabase indexed(testing::random_documents(500, 5), 12, "float16");
  const RetrievalDatabase& database = indexed.database();
  const NeighbourIndex index = indexed.index(index_config("exact"));
  const auto keys = testing::all_keys(database);
  std::vector<QueryOrigin> origins;
  for (int64_t id = 0; id < 500; ++id) origins.push_back({database.document_of(id), -1});
  const Neighbours found =
      filtered(index, keys, origins, Exclusion::kDocument, 4, {.num_threads = 2});
  for (size_t x = 0; x < 500; ++x) {
    const auto expected =
        testing::nearest_in_double(keys, std::span(keys).subspan(x * 12, 12), 4, [&](int64_t id) {
          return id / 5 != static_cast<int64_t>(x) / 5;  // five chunks a document
        });
    for (size_t i = 0; i < 4; ++i) ASSERT_EQ(found.ids[x * 4 + i], expected[i].second);
  }
}

TEST(NeighbourFilter, BitsDoNotDependOnThreadsOrCompany) {
  const IndexedDatabase indexed(one_monotonous_among(3000), 12);
  const RetrievalDatabase& database = indexed.database();
  std::vector<float> queries;
  std::vector<QueryOrigin> origins;
  for (int64_t id = 590; id < 640; ++id) {
    const auto key = key_of(database, id);
    queries.insert(queries.end(), key.begin(), key.end());
    origins.push_back({database.document_of(id), -1});
  }
  for (const std::string& type : kTypes) {
    const NeighbourIndex index = indexed.index(index_config(type), type);
    const Neighbours one = filtered(index, queries, origins, Exclusion::kDocument, 6);
    EXPECT_EQ(filtered(index, queries, origins, Exclusion::kDocument, 6, {.num_threads = 3}), one);
    for (size_t x = 0; x < origins.size(); ++x) {
      const auto begin = queries.begin() + static_cast<std::ptrdiff_t>(x * 12);
      const Neighbours alone =
          filtered(index, {begin, begin + 12}, {origins[x]}, Exclusion::kDocument, 6);
      ASSERT_TRUE(std::ranges::equal(alone.ids, std::span(one.ids).subspan(x * 6, 6))) << type;
    }
  }
}

TEST(NeighbourFilter, NamesOfExclusions) {
  for (const Exclusion exclusion : {Exclusion::kNone, Exclusion::kDocument, Exclusion::kGroup}) {
    EXPECT_EQ(parse_exclusion(exclusion_name(exclusion)), exclusion);
  }
  EXPECT_EQ(parse_exclusion("document"), Exclusion::kDocument);
  EXPECT_THAT(testing::error_of([] { parse_exclusion("documents"); }),
              ::testing::HasSubstr("documents"));
}

TEST(NeighbourFilter, RefusesWrongSizes) {
  const IndexedDatabase indexed(kCopies, 8);
  const NeighbourIndex index = indexed.index(index_config("exact"));
  EXPECT_THROW(filtered(index, std::vector<float>(15), {{0, 0}, {0, 0}}, Exclusion::kDocument, 2),
               Error);
}

}  // namespace
}  // namespace retro
