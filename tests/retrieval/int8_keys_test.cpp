// Keys stored as signed bytes with a scale.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "retro/core/error.h"
#include "retro/retrieval/database_writer.h"

#include "index_test_support.h"

namespace retro {
namespace {

using testing::index_config;
using testing::IndexedDatabase;
using testing::random_documents;

std::vector<float> embedded_keys(IndexedDatabase& indexed) {
  std::vector<std::string> texts;
  for (int64_t chunk = 0; chunk < indexed.database().num_chunks(); ++chunk) {
    std::string text;
    for (const uint32_t token : indexed.database().tokens(chunk)) text += static_cast<char>(token);
    texts.push_back(text);
  }
  std::vector<float> keys(texts.size() * static_cast<size_t>(indexed.database().key_width()));
  std::vector<uint8_t> has_key(texts.size());
  indexed.embedder().embed(texts, keys, has_key);
  return keys;
}

// Rounding to 127 steps is off by at most half a step; the scale is rounded up by at most 2^-15.
TEST(Int8Keys, ErrorIsHalfAStepOfTheLargestFeature) {
  for (const int64_t width : {1, 7, 8, 9, 33}) {
    IndexedDatabase indexed(random_documents(300, 10), width, "int8");
    const std::vector<float> exact = embedded_keys(indexed);
    const std::vector<float> stored = testing::all_keys(indexed.database());
    for (size_t row = 0; row < exact.size(); row += static_cast<size_t>(width)) {
      float largest = 0;
      for (int64_t f = 0; f < width; ++f) {
        largest = std::max(largest, std::abs(exact[row + static_cast<size_t>(f)]));
      }
      const float bound = largest / 127 / 2 * (1 + std::ldexp(1.0F, -14));
      for (int64_t f = 0; f < width; ++f) {
        const size_t i = row + static_cast<size_t>(f);
        ASSERT_NEAR(stored[i], exact[i], bound) << "width " << width;
      }
    }
  }
}

TEST(Int8Keys, AQuarterOfFloat32OnDisk) {
  const IndexedDatabase whole(random_documents(500, 10), 64, "float32");
  const IndexedDatabase bytes(random_documents(500, 10), 64, "int8");
  const auto size_of = [](const IndexedDatabase& indexed) {
    return std::filesystem::file_size(indexed.directory("database") / "shard_000000" / "keys.bin");
  };
  EXPECT_EQ(size_of(whole) - size_of(bytes), 500U * (64 * 4 - (64 + 4)));
}

TEST(Int8Keys, EveryIndexReranksTheStoredKeys) {
  IndexedDatabase indexed(random_documents(2000, 20), 24, "int8", 700);
  const auto queries = indexed.new_queries(50);
  for (const std::string type : {"exact", "ivf_flat", "ivf_pq"}) {
    const NeighbourIndex index = indexed.index(index_config(type), type);
    testing::expect_well_formed(index, queries, testing::search(index, queries, 10), 10);
    EXPECT_GE(testing::recall_of(index, queries, 10), 0.9) << type;
  }
}

// A compaction decodes and encodes keys: they must come out as they went in.
TEST(Int8Keys, CompactionKeepsEveryKey) {
  const IndexedDatabase indexed(random_documents(900, 20), 24, "int8", 300);
  indexed.index(index_config("exact"));
  const DatabasePlace place{indexed.directory("database"), indexed.directory("index")};
  const std::vector<float> before = testing::all_keys(indexed.database());
  DatabaseWriter writer(place);
  writer.remove(std::vector<int64_t>{3});
  writer.compact({.index = index_config("exact"), .shard_chunks = 300});
  const RetrievalDatabase& after = writer.database();
  ASSERT_EQ(after.num_chunks(), 900);
  std::vector<float> keys(24);
  for (int64_t chunk = 0; chunk < 900; ++chunk) {
    if (!after.is_live(chunk)) continue;
    after.copy_keys(chunk, chunk + 1, keys);
    ASSERT_TRUE(std::equal(keys.begin(), keys.end(),
                           before.begin() + static_cast<std::ptrdiff_t>(chunk * 24)))
        << "chunk " << chunk;
  }
}

}  // namespace
}  // namespace retro
