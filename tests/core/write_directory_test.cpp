#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/file_system.h"
#include "retro/core/file_tree.h"

#include "core/test_support.h"

namespace retro {
namespace {

using ::testing::Contains;
using testing::error_of;
using ::testing::HasSubstr;
using testing::slurp;
using testing::spill;
using ::testing::StartsWith;

using Names = std::set<std::string>;
namespace fs = std::filesystem;

Names names_in(const fs::path& directory) {
  Names names;
  for (const auto& entry : fs::directory_iterator(directory)) names.insert(entry.path().filename());
  return names;
}

class WriteDirectory : public ::testing::Test {
 protected:
  ~WriteDirectory() override { set_file_hook({}); }

  void write(const std::vector<std::string>& files) {
    write_directory(scratch_ / "d", [&](const fs::path& temporary) {
      for (const std::string& file : files) write_file(temporary / file, file);
    });
  }
  testing::ScratchDirectory scratch_;
};

TEST_F(WriteDirectory, AppearsComplete) {
  write_directory(scratch_ / "d", [&](const fs::path& temporary) {
    EXPECT_EQ(temporary.parent_path(), scratch_.path());
    EXPECT_THAT(temporary.filename().string(), StartsWith("d.tmp-"));
    spill(temporary / "a", "text");
    fs::create_directory(temporary / "sub");
    spill(temporary / "sub" / "b", "more");
    EXPECT_FALSE(fs::exists(scratch_ / "d"));
  });
  EXPECT_EQ(slurp(scratch_ / "d/a"), "text");
  EXPECT_EQ(slurp(scratch_ / "d/sub/b"), "more");
  EXPECT_EQ(scratch_.names(), Names{"d"});
}

TEST_F(WriteDirectory, ReplacesAnOlderOneWhole) {
  write({"a", "b"});
  write({"b", "c"});
  EXPECT_EQ(names_in(scratch_ / "d"), (Names{"b", "c"}));
  EXPECT_EQ(scratch_.names(), Names{"d"});
}

TEST_F(WriteDirectory, ReplacesAnEmptyOne) {
  fs::create_directory(scratch_ / "d");
  write({"a"});
  EXPECT_EQ(names_in(scratch_ / "d"), Names{"a"});
}

TEST_F(WriteDirectory, TrailingSlashIsTheSameName) {
  write_directory(scratch_ / "d/", [](const fs::path& temporary) { spill(temporary / "a", ""); });
  EXPECT_EQ(names_in(scratch_ / "d"), Names{"a"});
  EXPECT_EQ(scratch_.names(), Names{"d"});
}

TEST_F(WriteDirectory, FailingFillLeavesTheOldState) {
  write({"a"});
  const auto fail = [](const fs::path& temporary) {
    spill(temporary / "b", "");
    throw Error("injected");
  };
  EXPECT_EQ(error_of([&] { write_directory(scratch_ / "d", fail); }), "injected");
  EXPECT_EQ(names_in(scratch_ / "d"), Names{"a"});
  EXPECT_EQ(scratch_.names(), Names{"d"});
}

TEST_F(WriteDirectory, SyncsEveryFileAndDirectoryBeforeTheRename) {
  std::vector<std::string> operations;
  set_file_hook([&](std::string_view operation, const fs::path& path) {
    const std::string name = path.filename().string();
    operations.push_back(std::string(operation) + " " +
                         (name.starts_with("d.tmp-") ? "TEMPORARY" : name));
  });
  write_directory(scratch_ / "d", [](const fs::path& temporary) {
    fs::create_directory(temporary / "sub");
    spill(temporary / "sub" / "b", "more");
  });
  EXPECT_EQ(operations,
            (std::vector<std::string>{"sync b", "sync sub", "sync TEMPORARY", "rename d",
                                      "sync " + scratch_.path().filename().string()}));
}

// The state between the two renames on a file system that cannot exchange names.
TEST_F(WriteDirectory, RecoversARetiredState) {
  fs::create_directory(scratch_ / "d.retired");
  spill(scratch_ / "d.retired/a", "old");
  recover_directory(scratch_ / "d");
  EXPECT_EQ(slurp(scratch_ / "d/a"), "old");
  EXPECT_EQ(scratch_.names(), Names{"d"});
  recover_directory(scratch_ / "d");
  EXPECT_EQ(slurp(scratch_ / "d/a"), "old") << "recovering twice changes nothing";
}

// Killed when the new state is in place and the old one, under the temporary name, still there.
TEST_F(WriteDirectory, AnOldStateLeftByAKillIsRemoved) {
  write({"a"});
  const int status = testing::run_in_child([&] {
    set_file_hook([&](std::string_view, const fs::path& path) {
      if (path == scratch_.path()) ::raise(SIGKILL);
    });
    write({"b"});
  });
  ASSERT_TRUE(testing::was_killed(status));
  EXPECT_EQ(names_in(scratch_ / "d"), Names{"b"});
  EXPECT_EQ(scratch_.names().size(), 2U) << "there is a leftover";
  remove_leftovers_of(scratch_ / "d/");
  EXPECT_EQ(scratch_.names(), Names{"d"});
}

TEST_F(WriteDirectory, ARetiredStateIsALeftoverOnlyBesideItsSuccessor) {
  fs::create_directory(scratch_ / "d.retired");
  remove_leftovers_of(scratch_ / "d");
  EXPECT_EQ(scratch_.names(), Names{"d.retired"});
  fs::create_directory(scratch_ / "d");
  remove_leftovers_of(scratch_ / "d");
  EXPECT_EQ(scratch_.names(), Names{"d"});
}

TEST_F(WriteDirectory, ATemporaryOneLivesAsLongAsItsOwner) {
  {
    const TemporaryDirectory mine(scratch_ / "f");
    spill(mine.path() / "a", "");
    write_file(scratch_ / "f", "text");
    EXPECT_TRUE(fs::exists(mine.path() / "a")) << "no leftover";
  }
  EXPECT_EQ(scratch_.names(), Names{"f"});
  EXPECT_TRUE(testing::was_killed(testing::run_in_child([&] {
    const TemporaryDirectory other(scratch_ / "f");
    ::raise(SIGKILL);
  })));
  EXPECT_EQ(scratch_.names().size(), 2U);
  write_file(scratch_ / "f", "more");
  EXPECT_EQ(scratch_.names(), Names{"f"});
}

TEST_F(WriteDirectory, MissingParentIsAnError) {
  const auto write_nothing = [](const fs::path&) {};
  EXPECT_THAT(error_of([&] { write_directory(scratch_ / "no/d", write_nothing); }),
              HasSubstr("No such file or directory"));
}

}  // namespace
}  // namespace retro
