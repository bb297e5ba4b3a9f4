// A database build is killed before each write, sync and rename; what it leaves is the old state or
// the new one, and going on gives the same bytes as never having been killed.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "retro/core/error.h"
#include "retro/retrieval/retrieval_database.h"

#include "retrieval_test_support.h"

namespace retro {
namespace {

namespace fs = std::filesystem;
using testing::ByteTokenizer;
using testing::ended_well;
using testing::killer;
using testing::run_in_child;
using testing::ScratchDirectory;
using testing::TestCorpus;
using testing::was_killed;

class DatabaseResume : public ::testing::Test {
 protected:
  DatabaseResume() {
    config_.block_chunks = 2;
    config_.shard_chunks = 3;
  }
  int64_t build(const fs::path& directory) {
    HashedEmbedder embedder(8);
    build_database(corpus_.grid(4), ByteTokenizer(), embedder, config_, directory);
    return embedder.pieces_read();
  }

  ScratchDirectory scratch_;
  TestCorpus corpus_{scratch_.path(),
                     {{"s", "a", testing::random_text(9, 1)},
                      {"s", "b", testing::random_text(3, 2)},
                      {"t", "c", testing::random_text(10, 3)}}};
  DatabaseConfig config_ = testing::database_config(4);
};

TEST_F(DatabaseResume, KilledAnywhereGivesTheSameBytes) {
  build(scratch_ / "clean");
  const auto clean = testing::tree_of(scratch_ / "clean");
  const fs::path directory = scratch_ / "killed";
  int num_kills = 0;
  for (bool is_done = false; !is_done; ++num_kills) {
    ASSERT_LT(num_kills, 1000);
    const int status = run_in_child([&] {
      set_file_hook(killer(num_kills));
      build(directory);
    });
    is_done = ended_well(status);
    ASSERT_TRUE(is_done || was_killed(status));
    if (fs::exists(directory)) {
      EXPECT_EQ(testing::tree_of(directory), clean) << "appears whole or not at all";
    }
    build(directory);
    EXPECT_EQ(testing::tree_of(directory), clean) << "killed at call " << num_kills;
    EXPECT_FALSE(fs::exists(directory.string() + ".partial"));
    fs::remove_all(directory);
  }
  EXPECT_GT(num_kills, 40) << "every file is written, synced and renamed through the hook";
}

TEST_F(DatabaseResume, KilledAtEveryCallOneAfterAnother) {
  build(scratch_ / "clean");
  const fs::path directory = scratch_ / "killed";
  // Each attempt gets a little further, since finished files stay.
  for (int attempt = 0; attempt < 200; ++attempt) {
    const int status = run_in_child([&] {
      set_file_hook(killer(30));
      build(directory);
    });
    if (ended_well(status)) break;
    ASSERT_TRUE(was_killed(status));
  }
  ASSERT_TRUE(fs::exists(directory / "manifest.json"));
  EXPECT_EQ(testing::tree_of(directory), testing::tree_of(scratch_ / "clean"));
}

TEST_F(DatabaseResume, RandomKillsCostNothingButTime) {
  const char* wanted = std::getenv("RETRO_RANDOM_KILLS");
  const int num_kills = wanted == nullptr ? 20 : std::atoi(wanted);
  build(scratch_ / "clean");
  const auto clean = testing::tree_of(scratch_ / "clean");
  const fs::path directory = scratch_ / "killed";
  uint64_t random = 5;
  for (int kill = 0; kill < num_kills; ++kill) {
    random = random * 6364136223846793005 + 1442695040888963407;
    const pid_t child = ::fork();
    if (child == 0) {
      build(directory);
      ::_exit(0);
    }
    ::usleep(static_cast<useconds_t>((random >> 44) % 8'000));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(was_killed(status) || ended_well(status));
    if (!fs::exists(directory)) continue;  // goes on where it was killed
    ASSERT_EQ(testing::tree_of(directory), clean) << "after kill " << kill;
    fs::remove_all(directory);
  }
  build(directory);
  EXPECT_EQ(testing::tree_of(directory), clean);
}

TEST_F(DatabaseResume, FinishedBlocksAreNotEmbeddedAgain) {
  const int64_t all_pieces = build(scratch_ / "clean");
  const fs::path directory = scratch_ / "killed";
  // The third pair of block files is never begun.
  run_in_child([&] {
    set_file_hook([](std::string_view, const fs::path& path) {
      if (path.filename().string().ends_with(".has_key.bin") &&
          path.parent_path().filename() == "shard_000001") {
        ::raise(SIGKILL);
      }
    });
    build(directory);
  });
  const int64_t pieces = build(directory);
  EXPECT_GT(pieces, 0);
  EXPECT_LT(pieces, all_pieces);
  EXPECT_EQ(testing::tree_of(directory), testing::tree_of(scratch_ / "clean"));
}

TEST_F(DatabaseResume, PartialWorkOfOtherInputsIsThrownAway) {
  const fs::path directory = scratch_ / "killed";
  run_in_child([&] {
    set_file_hook(killer(20));
    build(directory);
  });
  ASSERT_TRUE(fs::exists(directory.string() + ".partial"));
  config_.key_storage = "float16";
  build(scratch_ / "clean");
  build(directory);
  EXPECT_EQ(testing::tree_of(directory), testing::tree_of(scratch_ / "clean"));
}

TEST_F(DatabaseResume, AnOldDatabaseStaysUsableUntilTheNewOneIsWhole) {
  const fs::path directory = scratch_ / "database";
  build(directory);
  const std::string old_version = RetrievalDatabase(directory).version();
  config_.key_storage = "float16";
  build(scratch_ / "clean");
  const std::string new_version = RetrievalDatabase(scratch_ / "clean").version();
  for (int call = 0; call < 1000; ++call) {
    const int status = run_in_child([&] {
      set_file_hook(killer(call));
      build(directory);
    });
    const RetrievalDatabase database(directory);
    EXPECT_TRUE(database.version() == old_version || database.version() == new_version);
    EXPECT_NO_THROW(database.verify());
    if (ended_well(status)) {
      EXPECT_EQ(database.version(), new_version);
      break;
    }
  }
}

TEST_F(DatabaseResume, PartsGiveTheBytesOfOneProcess) {
  build(scratch_ / "clean");
  for (const int64_t count : {1, 2, 4}) {
    const fs::path directory = scratch_ / ("parts_" + std::to_string(count));
    for (int64_t part = count - 1; part >= 0; --part) {
      HashedEmbedder embedder(8);
      build_database_part(corpus_.grid(4), ByteTokenizer(), embedder, config_, {part, count},
                          directory);
      EXPECT_FALSE(fs::exists(directory)) << "only the joining build puts it in place";
    }
    EXPECT_EQ(build(directory), 0) << "nothing is left to embed";
    EXPECT_EQ(testing::tree_of(directory), testing::tree_of(scratch_ / "clean"));
  }
  HashedEmbedder embedder(8);
  EXPECT_THROW(build_database_part(corpus_.grid(4), ByteTokenizer(), embedder, config_, {2, 2},
                                   scratch_ / "x"),
               Error);
}

TEST_F(DatabaseResume, AKilledPartIsFinishedByTheJoiningBuild) {
  build(scratch_ / "clean");
  const fs::path directory = scratch_ / "killed";
  for (int64_t part = 0; part < 2; ++part) {
    run_in_child([&] {
      set_file_hook(killer(15 + 9 * static_cast<int>(part)));
      HashedEmbedder embedder(8);
      build_database_part(corpus_.grid(4), ByteTokenizer(), embedder, config_, {part, 2},
                          directory);
    });
  }
  build(directory);
  EXPECT_EQ(testing::tree_of(directory), testing::tree_of(scratch_ / "clean"));
}

// A full disk, a lost mount: an error instead of a kill.
TEST_F(DatabaseResume, AFailingWriteIsAnErrorAndCanBeResumed) {
  build(scratch_ / "clean");
  const fs::path directory = scratch_ / "failing";
  for (int call = 0; call < 60; call += 7) {
    set_file_hook([left = call](std::string_view, const fs::path&) mutable {
      if (left-- == 0) throw Error("no space left");
    });
    bool has_failed = false;
    try {
      build(directory);
    } catch (const Error&) {
      has_failed = true;
    }
    set_file_hook({});
    if (!has_failed) break;  // what earlier attempts finished leaves fewer calls than that
    EXPECT_FALSE(fs::exists(directory)) << "nothing half-written";
  }
  build(directory);
  EXPECT_EQ(testing::tree_of(directory), testing::tree_of(scratch_ / "clean"));
}

}  // namespace
}  // namespace retro
