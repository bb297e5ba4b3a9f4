// Neighbour tables as files: stale ones are refused, killed builds go on.
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "retro/core/error.h"

#include "table_test_support.h"

namespace retro {
namespace {

namespace fs = std::filesystem;
using testing::error_of;
using ::testing::HasSubstr;
using testing::TableFixture;

class TableState : public ::testing::Test {
 protected:
  TableFixture fixture_{testing::database_and_held_out(60, 10)};
  const ChunkGrid& grid_ = fixture_.database_grid();
};

TEST_F(TableState, OfAnotherDatabaseVersionIsRefused) {
  fixture_.build(grid_, 2);
  const std::string error = error_of(
      [&] { const NeighbourTable table(fixture_.directory("table"), "0123", grid_.hash()); });
  EXPECT_THAT(error, HasSubstr("expected 0123"));
  EXPECT_THAT(error, HasSubstr("run `retro neighbours` again"));
}

TEST_F(TableState, OfAnotherGridIsRefused) {
  fixture_.build(grid_, 2);
  EXPECT_THAT(error_of([&] { fixture_.open(fixture_.held_out_grid()); }),
              HasSubstr("belong to other chunks"));
  EXPECT_THAT(error_of([&] { fixture_.open(fixture_.corpus().grid_of({"db"}, 4, 1)); }),
              HasSubstr("belong to other chunks"));
}

TEST_F(TableState, KeysOfAnotherGridAreRefused) {
  const GridKeys keys = fixture_.keys(fixture_.held_out_grid());
  EXPECT_THROW(build_neighbour_table(grid_, keys, fixture_.index(), Exclusion::kDocument, 2, 1,
                                     fixture_.directory("table")),
               Error);
}

TEST_F(TableState, TruncatedOrMissingFilesAreRefused) {
  for (const char* name : {"ids.bin", "distances.bin", "table.json"}) {
    fixture_.build(grid_, 2);
    const fs::path path = fixture_.directory("table") / name;
    const std::string content = testing::slurp(path);
    testing::spill(path, content.substr(0, content.size() - 8));
    EXPECT_THAT(error_of([&] { fixture_.open(grid_); }), HasSubstr(name));
    fs::remove(path);
    EXPECT_THAT(error_of([&] { fixture_.open(grid_); }), HasSubstr(name));
  }
}

TEST_F(TableState, IsBuiltAgainWhenItsInputsChange) {
  fixture_.build(grid_, 2);
  const auto first = testing::tree_of(fixture_.directory("table"));
  fixture_.build(grid_, 2);
  EXPECT_EQ(testing::tree_of(fixture_.directory("table")), first);
  fixture_.build(grid_, 3);
  EXPECT_EQ(fixture_.open(grid_).num_neighbours(), 3);
  fixture_.build(grid_, 3, "table", 1, Exclusion::kNone);
  EXPECT_EQ(fixture_.open(grid_).ids(5)[0], 5);
  fixture_.build(fixture_.held_out_grid(), 3);
  EXPECT_EQ(fixture_.open(fixture_.held_out_grid()).num_rows(), 10);
}

// Blocks hold 8,192 rows: two and a bit.
TEST(TableResume, KilledAnywhereGivesTheSameBytes) {
  TableFixture fixture(testing::database_and_held_out(12, 17'000), 4);
  const ChunkGrid grid = fixture.held_out_grid();
  fixture.build(grid, 2, "clean", 1);
  const auto clean = testing::tree_of(fixture.directory("clean"));
  fixture.keys(grid, "killed_keys");
  const fs::path directory = fixture.directory("killed");
  int num_kills = 0;
  for (bool is_done = false; !is_done; ++num_kills) {
    ASSERT_LT(num_kills, 200);
    const int status = testing::run_in_child([&] {
      set_file_hook(testing::killer(num_kills));
      fixture.build(grid, 2, "killed", 1);
    });
    is_done = testing::ended_well(status);
    ASSERT_TRUE(is_done || testing::was_killed(status));
    if (fs::exists(directory)) {
      ASSERT_EQ(testing::tree_of(directory), clean);
    }
    fixture.build(grid, 2, "killed", 1);
    ASSERT_EQ(testing::tree_of(directory), clean) << "killed at call " << num_kills;
    fs::remove_all(directory);
  }
  EXPECT_GT(num_kills, 3 * 2 * 4) << "three blocks of two files";
}

/// 17,000 rows: three blocks for the keys and for the table.
class TableParts : public ::testing::Test {
 protected:
  void build_part(const ChunkGrid& grid, const BuildPart& part, const std::string& name) {
    build_neighbour_table_part(
        {grid, fixture_.index(), tokenizer_, fixture_.embedder(), {Exclusion::kDocument, 2, 1}},
        part, fixture_.directory(name + "_keys"), fixture_.directory(name));
  }
  void expect_whole(const std::string& name) {
    for (const std::string suffix : {"", "_keys"}) {
      EXPECT_EQ(testing::tree_of(fixture_.directory(name + suffix)),
                testing::tree_of(fixture_.directory("clean" + suffix)))
          << name << suffix;
      EXPECT_FALSE(fs::exists(fixture_.directory(name + suffix + ".partial")));
    }
  }

  testing::ByteTokenizer tokenizer_;
  TableFixture fixture_{testing::database_and_held_out(40, 17'000), 4};
  const ChunkGrid grid_ = fixture_.held_out_grid();
};

TEST_F(TableParts, GiveTheBytesOfOneProcess) {
  fixture_.build(grid_, 2, "clean", 1);
  for (const int64_t count : {1, 2, 4}) {
    const std::string name = "parts_" + std::to_string(count);
    for (int64_t part = count - 1; part >= 0; --part) build_part(grid_, {part, count}, name);
    const int64_t embedded = fixture_.embedder().pieces_read();
    EXPECT_FALSE(fs::exists(fixture_.directory(name))) << "until the parts are joined";
    fixture_.build(grid_, 2, name, 1);
    EXPECT_EQ(fixture_.embedder().pieces_read(), embedded) << "nothing is made twice";
    expect_whole(name);
  }
  EXPECT_THROW(build_part(grid_, {2, 2}, "parts_2"), Error);
}

TEST_F(TableParts, SeveralProcessesAtOnce) {
  fixture_.build(grid_, 2, "clean", 1);
  std::vector<pid_t> children;
  for (int64_t part = 0; part < 3; ++part) {
    const pid_t child = ::fork();
    if (child == 0) {
      build_part(grid_, {part, 3}, "together");
      ::_exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(testing::ended_well(status));
  }
  fixture_.build(grid_, 2, "together", 1);
  expect_whole("together");
}

TEST_F(TableParts, AKilledPartIsFinishedByTheJoin) {
  fixture_.build(grid_, 2, "clean", 1);
  for (const int call : {5, 17}) {
    const std::string name = "killed_" + std::to_string(call);
    const int status = testing::run_in_child([&] {
      set_file_hook(testing::killer(call));
      build_part(grid_, {0, 2}, name);
    });
    ASSERT_TRUE(testing::was_killed(status));
    fixture_.build(grid_, 2, name, 1);
    expect_whole(name);
  }
}

}  // namespace
}  // namespace retro
