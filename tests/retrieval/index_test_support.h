// A database of clustered keys and indexes of it.
#pragma once

#include <string>
#include <vector>

#include "retro/retrieval/neighbour_filter.h"
#include "retro/retrieval/neighbour_index.h"

#include "retrieval_test_support.h"

namespace retro::testing {

struct Neighbours {
  std::vector<int64_t> ids;
  std::vector<float> distances;
  bool operator==(const Neighbours&) const = default;
};

/// Documents of `chunks_per_document` chunks of 4 random tokens; about one chunk in 700 is spaces
/// only.
inline std::vector<TestDocument> random_documents(int64_t num_chunks, int64_t chunks_per_document,
                                                  uint64_t seed = 1) {
  std::vector<TestDocument> documents;
  for (int64_t done = 0; done < num_chunks; done += chunks_per_document) {
    const int64_t count = std::min(chunks_per_document, num_chunks - done);
    const auto number = static_cast<uint64_t>(documents.size());
    documents.push_back(
        {"s", std::to_string(number), random_text(4 * count, seed + 1000 * number)});
  }
  return documents;
}

class IndexedDatabase {
 public:
  IndexedDatabase(const std::vector<TestDocument>& documents, int64_t key_width,
                  const std::string& key_storage = "float32", int64_t shard_chunks = 1 << 20)
      : corpus_(scratch_.path(), documents),
        embedder_(key_width),
        database_(build(key_storage, shard_chunks)) {}

  const RetrievalDatabase& database() const { return database_; }
  const TestCorpus& corpus() const { return corpus_; }
  ClusterEmbedder& embedder() { return embedder_; }
  std::filesystem::path directory(const std::string& name) const { return scratch_ / name; }

  NeighbourIndex index(const IndexConfig& config, const std::string& name = "index",
                       int num_threads = 1) const {
    build_index(database_, config, 7, num_threads, directory(name));
    return {database_, directory(name)};
  }
  /// Keys of texts that are in no document.
  std::vector<float> new_queries(int64_t count) {
    std::vector<std::string> texts;
    for (int64_t i = 0; i < count; ++i) texts.push_back("query " + std::to_string(i));
    std::vector<float> keys(static_cast<size_t>(count * embedder_.key_width()));
    std::vector<uint8_t> has_key(texts.size());
    embedder_.embed(texts, keys, has_key);
    return keys;
  }

 private:
  std::filesystem::path build(const std::string& key_storage, int64_t shard_chunks) {
    DatabaseConfig config = database_config(4, key_storage);
    config.shard_chunks = shard_chunks;
    build_database(corpus_.grid(4), ByteTokenizer(), embedder_, config, scratch_ / "database");
    return scratch_ / "database";
  }

  ScratchDirectory scratch_;
  TestCorpus corpus_;
  ClusterEmbedder embedder_;
  RetrievalDatabase database_;
};

inline IndexConfig index_config(const std::string& type, int64_t num_lists = 0) {
  IndexConfig config;
  config.type = type;
  config.num_lists = num_lists;
  config.recall_queries = 200;
  return config;
}

inline Neighbours search(const NeighbourIndex& index, const std::vector<float>& queries, int64_t k,
                         const SearchParameters& parameters = {}) {
  const auto width = static_cast<size_t>(index.database().key_width());
  const size_t size = queries.size() / width * static_cast<size_t>(k);
  Neighbours found{std::vector<int64_t>(size, 77), std::vector<float>(size, 77)};
  index.search(queries, k, parameters, found.ids, found.distances);
  return found;
}

/// Share of the `k` true neighbours of each query (float64 brute force over the stored keys) whose
/// distance is met.
inline double recall_of(const NeighbourIndex& index, const std::vector<float>& queries, size_t k,
                        const SearchParameters& parameters = {}) {
  const RetrievalDatabase& database = index.database();
  const auto width = static_cast<size_t>(database.key_width());
  const std::vector<float> keys = all_keys(database);
  const Neighbours found = search(index, queries, static_cast<int64_t>(k), parameters);
  double hits = 0;
  double wanted = 0;
  for (size_t x = 0; x < queries.size() / width; ++x) {
    const auto expected = nearest_in_double(keys, std::span(queries).subspan(x * width, width), k,
                                            [&](int64_t row) { return database.has_key(row); });
    const double farthest = expected.back().first * (1 + 1e-5);
    wanted += static_cast<double>(expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      hits += double{found.distances[x * k + i]} <= farthest ? 1 : 0;
    }
  }
  return hits / wanted;
}

/// Sorted by (distance, id), each id once and with a key, the distance that of its stored key,
/// missing ones last.
inline void expect_well_formed(const NeighbourIndex& index, const std::vector<float>& queries,
                               const Neighbours& found, size_t k) {
  const auto width = static_cast<size_t>(index.database().key_width());
  const std::vector<float> keys = all_keys(index.database());
  for (size_t i = 0; i < found.ids.size(); ++i) {
    const int64_t id = found.ids[i];
    if (id == kMissing) {
      ASSERT_EQ(found.distances[i], std::numeric_limits<float>::infinity());
      continue;
    }
    ASSERT_TRUE(index.database().has_key(id));
    const double expected =
        distance_in_double(std::span(keys).subspan(static_cast<size_t>(id) * width, width),
                           std::span(queries).subspan(i / k * width, width));
    ASSERT_NEAR(double{found.distances[i]}, expected, 1e-5 * expected);
    if (i % k == 0) continue;
    ASSERT_LT(std::pair(found.distances[i - 1], found.ids[i - 1]),
              std::pair(found.distances[i], id));
  }
}

}  // namespace retro::testing
