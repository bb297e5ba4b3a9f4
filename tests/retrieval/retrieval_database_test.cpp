#include "retro/retrieval/retrieval_database.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "retro/core/error.h"
#include "retro/core/half.h"

#include "retrieval_test_support.h"

namespace retro {
namespace {

using testing::ByteTokenizer;
using testing::ScratchDirectory;
using testing::TestCorpus;
using testing::TestDocument;

/// Documents of 9, 4, 0, 5 and 1 tokens; the corpus leaves the empty one out.
const std::vector<TestDocument> kDocuments{{"books", "a", "abcdefghi"},
                                           {"books", "b", "jklm"},
                                           {"books", "empty", ""},
                                           {"notes", "a", "nopqr", "same work"},
                                           {"notes", "c", "s"}};

class Database {
 public:
  explicit Database(const std::vector<TestDocument>& documents = kDocuments,
                    DatabaseConfig config = testing::database_config(4))
      : corpus_(scratch_.path(), documents), database_(build(config)) {}

  const RetrievalDatabase& operator*() const { return database_; }
  const RetrievalDatabase* operator->() const { return &database_; }
  const TestCorpus& corpus() const { return corpus_; }
  std::filesystem::path directory() const { return scratch_ / "database"; }
  HashedEmbedder& embedder() { return embedder_; }
  std::filesystem::path build(const DatabaseConfig& config) {
    build_database(corpus_.grid(config.chunk_length), ByteTokenizer(), embedder_, config,
                   directory());
    return directory();
  }

 private:
  ScratchDirectory scratch_;
  TestCorpus corpus_;
  HashedEmbedder embedder_{16};
  RetrievalDatabase database_;
};

std::vector<int32_t> value_of(const RetrievalDatabase& database, int64_t chunk_id) {
  std::vector<int32_t> value(static_cast<size_t>(2 * database.chunk_length()), 99);
  database.copy_value(chunk_id, value);
  return value;
}

TEST(RetrievalDatabase, ValuesByHand) {
  const Database database;
  ASSERT_EQ(database->num_chunks(), 3 + 1 + 0 + 2 + 1);
  using Value = std::vector<int32_t>;
  EXPECT_EQ(value_of(*database, 0), (Value{'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'}));
  EXPECT_EQ(value_of(*database, 1), (Value{'e', 'f', 'g', 'h', 'i', -1, -1, -1}));
  EXPECT_EQ(value_of(*database, 2), (Value{'i', -1, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(value_of(*database, 3), (Value{'j', 'k', 'l', 'm', -1, -1, -1, -1}))
      << "the next document's tokens are no continuation";
  EXPECT_EQ(value_of(*database, 4), (Value{'n', 'o', 'p', 'q', 'r', -1, -1, -1}));
  EXPECT_EQ(value_of(*database, 6), (Value{'s', -1, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(value_of(*database, kMissing), Value(8, -1));
}

TEST(RetrievalDatabase, TokensAreTheChunkWithoutPadding) {
  const Database database;
  EXPECT_TRUE(std::ranges::equal(database->tokens(1), std::vector<uint32_t>{'e', 'f', 'g', 'h'}));
  EXPECT_TRUE(std::ranges::equal(database->tokens(5), std::vector<uint32_t>{'r'}));
}

TEST(RetrievalDatabase, OneTokenMoreThanAChunkIsTwoChunks) {
  const Database database({{"s", "whole", "abcd"}, {"s", "more", "abcde"}, {"s", "one", "a"}});
  EXPECT_EQ(database->document(0).num_chunks, 1);
  EXPECT_EQ(database->document(1).num_chunks, 2);
  EXPECT_EQ(database->document(2).num_chunks, 1);
  for (int64_t chunk = 0; chunk < database->num_chunks(); ++chunk) {
    EXPECT_FALSE(database->tokens(chunk).empty());
  }
}

TEST(RetrievalDatabase, RefusesChunksThatDoNotExist) {
  const Database database;
  std::vector<int32_t> value(8);
  EXPECT_THROW(database->copy_value(7, value), Error);
  EXPECT_THROW(database->copy_value(-2, value), Error);
  EXPECT_THROW(database->copy_value(0, std::span(value).first(7)), Error);
  EXPECT_THROW(database->tokens(-1), Error);
  EXPECT_THROW(database->has_key(7), Error);
  std::vector<float> keys(16);
  EXPECT_THROW(database->copy_keys(7, 8, keys), Error);
  EXPECT_THROW(database->copy_keys(0, 2, keys), Error);
}

TEST(RetrievalDatabase, DocumentTable) {
  const Database database;
  ASSERT_EQ(database->num_documents(), 4);
  const DatabaseDocument& document = database->document(2);
  EXPECT_EQ(document.id, "a");
  EXPECT_EQ(document.source, "notes");
  EXPECT_EQ(document.group, "same work");
  EXPECT_EQ(document.title, "title of a");
  EXPECT_EQ(document.fields, R"({"extra":"a"})");
  EXPECT_EQ(document.first_chunk, 4);
  EXPECT_EQ(document.num_chunks, 2);
  EXPECT_EQ(document.num_tokens, 5);
  EXPECT_EQ(document.num_bytes, 5);
  std::vector<int64_t> owners;
  for (int64_t chunk = 0; chunk < 7; ++chunk) owners.push_back(database->document_of(chunk));
  EXPECT_EQ(owners, (std::vector<int64_t>{0, 0, 0, 1, 2, 2, 3}));
}

TEST(RetrievalDatabase, DocumentsAreFoundBySourceAndId) {
  const Database database;
  EXPECT_EQ(database->find_document("books", "a"), 0);
  EXPECT_EQ(database->find_document("notes", "a"), 2);
  EXPECT_EQ(database->find_document("books", "empty"), -1);
  EXPECT_EQ(database->find_document("books", "c"), -1);
  EXPECT_EQ(database->find_document("", ""), -1);
}

TEST(RetrievalDatabase, StoredKeyIsTheQueryKey) {
  for (const std::string storage : {"float32", "float16"}) {
    Database database(kDocuments, testing::database_config(4, storage));
    const std::vector<std::string> texts{"abcd", "efgh", "i", "jklm", "nopq", "r", "s"};
    for (size_t chunk = 0; chunk < texts.size(); ++chunk) {
      std::vector<float> key(16);
      uint8_t has_key = 0;
      database.embedder().embed(std::span(texts).subspan(chunk, 1), key, {&has_key, 1});
      std::vector<float> stored(16);
      const auto id = static_cast<int64_t>(chunk);
      database->copy_keys(id, id + 1, stored);
      if (storage == "float16") {
        for (float& value : key) value = float_from_float16(float16_from_float(value));
      }
      EXPECT_EQ(stored, key) << storage << " chunk " << chunk;
      EXPECT_TRUE(database->has_key(id));
    }
  }
}

TEST(RetrievalDatabase, Float16CoversItsWholeRange) {
  class RampEmbedder final : public ChunkEmbedder {
   public:
    int64_t key_width() const override { return 11; }
    void embed(std::span<const std::string> texts, std::span<float> keys,
               std::span<uint8_t> has_key) override {
      const std::vector<float> ramp{0,       1,        -1,    65504,     -65504, 1.0009765625F,
                                    6.1e-5F, 5.96e-8F, 1e-9F, 0.333333F, 2049};
      for (size_t i = 0; i < texts.size() * ramp.size(); ++i) keys[i] = ramp[i % ramp.size()];
      std::ranges::fill(has_key, uint8_t{1});
    }
    std::string identity() const override { return "ramp"; }
    int64_t pieces_read() const override { return 0; }
  };
  const ScratchDirectory scratch;
  const TestCorpus corpus(scratch.path(), kDocuments);
  RampEmbedder embedder;
  build_database(corpus.grid(4), ByteTokenizer(), embedder, testing::database_config(4, "float16"),
                 scratch / "d");
  const RetrievalDatabase database(scratch / "d");
  std::vector<float> key(11);
  database.copy_keys(2, 3, key);
  // Rounded by hand: 11 bits of mantissa, steps of 2^-24 below 2^-14, ties to even.
  EXPECT_EQ(key, (std::vector<float>{0, 1, -1, 65504, -65504, 1.0009765625F, 1023 * 0x1p-24F,
                                     0x1p-24F, 0, 1365 * 0x1p-12F, 2048}));
}

TEST(RetrievalDatabase, AChunkWithoutAWordHasNoKey) {
  const Database database({{"s", "spaces", "abcd    efgh"}, {"s", "end", "abcd  "}});
  std::vector<bool> flags;
  for (int64_t chunk = 0; chunk < 5; ++chunk) flags.push_back(database->has_key(chunk));
  EXPECT_EQ(flags, (std::vector<bool>{true, false, true, true, false}));
  EXPECT_EQ(database->num_indexable(), 3);
  EXPECT_EQ(value_of(*database, 0)[4], ' ') << "it is a continuation all the same";
  EXPECT_EQ(value_of(*database, 1)[0], ' ');
}

TEST(RetrievalDatabase, ShardsChangeNothing) {
  DatabaseConfig config = testing::database_config(4);
  const Database one(kDocuments, config);
  config.shard_chunks = 1;
  const Database many(kDocuments, config);
  EXPECT_EQ(one->num_shards(), 1);
  // Each document ends a shard.
  ASSERT_EQ(many->num_shards(), 4);
  EXPECT_EQ(many->shard_first_chunk(2), 4);
  EXPECT_EQ(many->shard_first_chunk(4), 7);
  for (int64_t chunk = -1; chunk < 7; ++chunk) {
    EXPECT_EQ(value_of(*one, chunk), value_of(*many, chunk));
  }
  EXPECT_EQ(testing::all_keys(*one), testing::all_keys(*many));
  EXPECT_EQ(many->document(2).first_chunk, 4);
  EXPECT_EQ(many->find_document("notes", "c"), 3);
}

TEST(RetrievalDatabase, BlocksChangeNothing) {
  DatabaseConfig config = testing::database_config(4);
  const Database one(kDocuments, config);
  config.block_chunks = 2;
  const Database many(kDocuments, config);
  EXPECT_EQ(one->version(), many->version());
  EXPECT_EQ(testing::slurp(one.directory() / "shard_000000/keys.bin"),
            testing::slurp(many.directory() / "shard_000000/keys.bin"));
}

TEST(RetrievalDatabase, VersionFollowsTheContent) {
  const Database one;
  const Database same;
  EXPECT_EQ(one->version(), same->version());
  auto documents = kDocuments;
  documents[1].text = "jklM";
  EXPECT_NE(one->version(), Database(documents)->version());
  documents = kDocuments;
  documents[1].group = "other";
  EXPECT_NE(one->version(), Database(documents)->version());
  EXPECT_NE(one->version(),
            Database(kDocuments, testing::database_config(4, "float16"))->version());
  EXPECT_NE(one->version(), Database(kDocuments, testing::database_config(5))->version());
}

TEST(RetrievalDatabase, NamesItsMakers) {
  const Database database;
  EXPECT_EQ(database->embedder_identity(), HashedEmbedder(16).identity());
  EXPECT_EQ(database->tokenizer_identity(), "bytes");
  EXPECT_EQ(database->key_storage(), "float32");
}

TEST(RetrievalDatabase, SecondBuildDoesNothing) {
  Database database;
  const auto before = testing::tree_of(database.directory());
  const int64_t pieces = database.embedder().pieces_read();
  database.build(testing::database_config(4));
  EXPECT_EQ(database.embedder().pieces_read(), pieces);
  EXPECT_EQ(testing::tree_of(database.directory()), before);
}

TEST(RetrievalDatabase, OtherConfigReplacesIt) {
  Database database;
  database.build(testing::database_config(3));
  EXPECT_EQ(RetrievalDatabase(database.directory()).chunk_length(), 3);
}

TEST(RetrievalDatabase, ReadsFromManyThreadsGiveTheSame) {
  const Database database;
  const auto expected = value_of(*database, 1);
  std::vector<std::jthread> threads;
  std::atomic<int> differing = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        if (value_of(*database, 1) != expected) ++differing;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(differing, 0);
}

}  // namespace
}  // namespace retro
