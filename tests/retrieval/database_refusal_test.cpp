// What a retrieval database refuses: inputs that do not fit, and files that are not what they were.
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "retro/core/checked_json.h"
#include "retro/core/error.h"
#include "retro/retrieval/retrieval_database.h"

#include "retrieval_test_support.h"

namespace retro {
namespace {

namespace fs = std::filesystem;
using testing::ByteTokenizer;
using testing::error_of;
using ::testing::HasSubstr;
using testing::ScratchDirectory;
using testing::slurp;
using testing::spill;
using testing::TestCorpus;

class DatabaseRefusal : public ::testing::Test {
 protected:
  void build(const DatabaseConfig& config = testing::database_config(4)) {
    build_database(corpus_.grid(4), ByteTokenizer(), embedder_, config, directory_);
  }
  std::string error_of_open() {
    return error_of([&] { const RetrievalDatabase database(directory_); });
  }

  ScratchDirectory scratch_;
  TestCorpus corpus_{scratch_.path(),
                     {{"s", "a", "some words of text"}, {"s", "b", "and some other words"}}};
  HashedEmbedder embedder_{8};
  fs::path directory_ = scratch_ / "database";
  fs::path shard_ = directory_ / "shard_000000";
};

TEST_F(DatabaseRefusal, EmptyGrid) {
  const ChunkGrid empty(corpus_.corpus(), {}, 4);
  EXPECT_THAT(error_of([&] {
                build_database(empty, ByteTokenizer(), embedder_, testing::database_config(4),
                               directory_);
              }),
              HasSubstr("empty"));
  EXPECT_FALSE(fs::exists(directory_));
}

TEST_F(DatabaseRefusal, GridOfAnotherChunkLengthOrShift) {
  EXPECT_THAT(error_of([&] { build(testing::database_config(5)); }),
              HasSubstr("chunk_length is 5"));
  const ChunkGrid shifted = corpus_.grid(4, 1);
  EXPECT_THROW(
      build_database(shifted, ByteTokenizer(), embedder_, testing::database_config(4), directory_),
      Error);
}

TEST_F(DatabaseRefusal, TokenizerOtherThanTheCorpus) {
  EXPECT_THAT(error_of([&] {
                build_database(corpus_.grid(4), ByteTokenizer("others"), embedder_,
                               testing::database_config(4), directory_);
              }),
              HasSubstr("others"));
}

TEST_F(DatabaseRefusal, UnknownKeyStorage) {
  EXPECT_THAT(error_of([&] { build(testing::database_config(4, "float8")); }), HasSubstr("float8"));
}

TEST_F(DatabaseRefusal, KeysThatAreNoNumbers) {
  class BrokenEmbedder final : public ChunkEmbedder {
   public:
    explicit BrokenEmbedder(float value) : value_(value) {}
    int64_t key_width() const override { return 2; }
    void embed(std::span<const std::string>, std::span<float> keys,
               std::span<uint8_t> has_key) override {
      std::ranges::fill(keys, value_);
      std::ranges::fill(has_key, uint8_t{1});
    }
    std::string identity() const override { return "broken"; }
    int64_t pieces_read() const override { return 0; }

   private:
    float value_;
  };
  const auto error_with = [&](float value, const std::string& storage) {
    BrokenEmbedder embedder(value);
    return error_of([&] {
      build_database(corpus_.grid(4), ByteTokenizer(), embedder,
                     testing::database_config(4, storage), directory_);
    });
  };
  EXPECT_THAT(error_with(std::numeric_limits<float>::quiet_NaN(), "float32"), HasSubstr("nan"));
  EXPECT_THAT(error_with(-std::numeric_limits<float>::infinity(), "float32"), HasSubstr("inf"));
  EXPECT_THAT(error_with(70000, "float16"), HasSubstr("key_storage to float32"));
}

TEST_F(DatabaseRefusal, MissingDirectoryOrManifest) {
  EXPECT_THAT(error_of_open(), HasSubstr("retro database build"));
  build();
  fs::remove(directory_ / "manifest.json");
  EXPECT_THAT(error_of_open(), HasSubstr("manifest.json is missing"));
}

TEST_F(DatabaseRefusal, OtherFormatVersion) {
  build();
  nlohmann::json manifest = read_checked_json(directory_ / "manifest.json");
  manifest["format_version"] = 5;
  write_checked_json(directory_ / "manifest.json", manifest);
  EXPECT_THAT(error_of_open(), HasSubstr("version 5"));
}

TEST_F(DatabaseRefusal, DatabasesOfOlderProgramsHaveNoChecksums) {
  build();
  nlohmann::json manifest = read_checked_json(directory_ / "manifest.json");
  manifest["format_version"] = 1;
  write_json_file(directory_ / "manifest.json", manifest);
  write_json_file(shard_ / "shard.json", read_checked_json(shard_ / "shard.json"));
  EXPECT_NO_THROW(RetrievalDatabase(directory_).verify());
  manifest["format_version"] = 3;
  write_json_file(directory_ / "manifest.json", manifest);
  EXPECT_THAT(error_of_open(), HasSubstr("`checksum` is missing"));
}

TEST_F(DatabaseRefusal, TruncatedFiles) {
  for (const char* name : {"tokens.bin", "keys.bin", "has_key.bin", "documents.jsonl"}) {
    build();
    const std::string content = slurp(shard_ / name);
    spill(shard_ / name, content.substr(0, content.size() - 4));
    EXPECT_THAT(error_of_open(), HasSubstr(name));
    fs::remove(shard_ / name);
    EXPECT_THAT(error_of_open(), HasSubstr(name));
    fs::remove_all(directory_);
  }
}

TEST_F(DatabaseRefusal, ShardOfAnotherDatabase) {
  build();
  const std::string keys = slurp(shard_ / "keys.bin");
  fs::remove_all(directory_);
  const TestCorpus other(scratch_.path(),
                         {{"s", "a", "some words of tex!"}, {"s", "b", "and some other words"}},
                         "other");
  build_database(other.grid(4), ByteTokenizer(), embedder_, testing::database_config(4),
                 directory_);
  spill(shard_ / "keys.bin", keys);
  EXPECT_THAT(error_of_open(), HasSubstr("keys.bin"));
}

TEST_F(DatabaseRefusal, FlippedBytesInSmallFilesAreSeenWhenOpened) {
  for (const char* name : {"shard_000000/documents.jsonl", "shard_000000/shard.json"}) {
    build();
    const std::string content = slurp(directory_ / name);
    for (size_t at = 0; at < content.size(); at += 7) {
      // Whitespace between JSON values may become other whitespace: not damage.
      if (content[at] == ' ' || content[at] == '\n') continue;
      for (const std::string& damaged : testing::damaged_at(content, at)) {
        spill(directory_ / name, damaged);
        EXPECT_THROW(RetrievalDatabase{directory_}, Error) << name << " at " << at;
      }
    }
    fs::remove_all(directory_);
  }
}

TEST_F(DatabaseRefusal, FlippedBytesInLargeFilesAreSeenByVerify) {
  for (const char* name : {"tokens.bin", "keys.bin", "has_key.bin"}) {
    build();
    EXPECT_NO_THROW(RetrievalDatabase{directory_}.verify());
    const std::string content = slurp(shard_ / name);
    spill(shard_ / name, testing::damaged_at(content, content.size() - 2)[0]);
    EXPECT_THAT(error_of([&] { RetrievalDatabase{directory_}.verify(); }), HasSubstr(name));
    fs::remove_all(directory_);
  }
}

// A damaged database is not "up to date": building again repairs it.
TEST_F(DatabaseRefusal, BuildRepairsWhatCannotBeOpened) {
  build();
  const auto whole = testing::tree_of(directory_);
  fs::remove(shard_ / "keys.bin");
  build();
  EXPECT_EQ(testing::tree_of(directory_), whole);
  for (const char* name : {"manifest.json", "shard_000000/tokens.bin"}) {
    const std::string content = slurp(directory_ / name);
    spill(directory_ / name, testing::damaged_at(content, content.size() - 4)[0]);
    build();
    EXPECT_EQ(testing::tree_of(directory_), whole) << name;
  }
}

}  // namespace
}  // namespace retro
