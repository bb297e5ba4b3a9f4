#include "retro/core/file_system.h"

#include <limits>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "core/test_support.h"

namespace retro {
namespace {

using ::testing::ElementsAre;
using testing::ended_well;
using testing::error_of;
using ::testing::HasSubstr;
using testing::run_in_child;
using testing::slurp;
using testing::spill;
using ::testing::StartsWith;

using Names = std::set<std::string>;

class FileSystem : public ::testing::Test {
 protected:
  ~FileSystem() override { set_file_hook({}); }
  testing::ScratchDirectory scratch_;
};

TEST_F(FileSystem, NothingIsSeenBeforeCommit) {
  spill(scratch_ / "a", "old");
  AtomicFile file(scratch_ / "a");
  file.write("new");
  EXPECT_EQ(slurp(scratch_ / "a"), "old");
  file.commit();
  EXPECT_EQ(slurp(scratch_ / "a"), "new");
  EXPECT_EQ(scratch_.names(), Names{"a"});
}

TEST_F(FileSystem, WithoutCommitNothingIsLeft) {
  { AtomicFile(scratch_ / "a").write("new"); }
  EXPECT_EQ(scratch_.names(), Names{});
}

TEST_F(FileSystem, TemporaryNameStandsBeside) {
  const AtomicFile file(scratch_ / "a");
  ASSERT_EQ(scratch_.names().size(), 1U);
  EXPECT_THAT(*scratch_.names().begin(), StartsWith("a.tmp-" + std::to_string(::getpid()) + "-"));
}

// 3 MiB in pieces of 7 and of 2 MiB: below, across and above the buffer of 1 MiB.
TEST_F(FileSystem, PiecesOfAnySizeKeepTheirOrder) {
  std::string expected;
  AtomicFile file(scratch_ / "a");
  for (int i = 0; i < 150'000; ++i) {
    const std::string piece = std::to_string(1'000'000 + i);
    file.write(piece);
    expected += piece;
  }
  const std::string large(2u << 20, 'x');
  file.write(large);
  file.write("end");
  EXPECT_EQ(file.size_bytes(), expected.size() + large.size() + 3);
  file.commit();
  EXPECT_EQ(slurp(scratch_ / "a"), expected + large + "end");
}

TEST_F(FileSystem, ArraysAreWrittenAsTheyLie) {
  AtomicFile file(scratch_ / "a");
  const std::vector<uint16_t> values{0x0201, 0x0403};
  file.write_array(std::span<const uint16_t>(values));
  file.commit();
  EXPECT_EQ(slurp(scratch_ / "a"), "\x01\x02\x03\x04");
}

TEST_F(FileSystem, WriteAtReplacesBytesAndAppendingGoesOn) {
  AtomicFile file(scratch_ / "a");
  file.write("0123456789");
  file.write_at(2, std::as_bytes(std::span("XY", 2)));
  file.write("end");
  EXPECT_THAT(error_of([&] { file.write_at(12, std::as_bytes(std::span("XY", 2))); }),
              HasSubstr("outside"));
  AtomicFile again(scratch_ / "b");
  again.write("0123456789");
  again.write_at(8, std::as_bytes(std::span("XY", 2)));
  again.write("end");
  again.commit();
  EXPECT_EQ(slurp(scratch_ / "b"), "01234567XYend");
  EXPECT_THAT(error_of([&] { file.commit(); }), HasSubstr("earlier write failed"));
}

TEST_F(FileSystem, WriteAtOverflowIsRefused) {
  AtomicFile file(scratch_ / "a");
  file.write("0123456789");
  const uint64_t offset = std::numeric_limits<uint64_t>::max() - 1;
  EXPECT_THAT(error_of([&] { file.write_at(offset, std::as_bytes(std::span("XYZ", 3))); }),
              HasSubstr("outside"));
}

TEST_F(FileSystem, MovedFilesKeepWorkingAndCommittedOnesRefuse) {
  AtomicFile first(scratch_ / "a");
  first.write("x");
  AtomicFile second(std::move(first));
  second.write("y");
  second.commit();
  EXPECT_EQ(slurp(scratch_ / "a"), "xy");
  EXPECT_NE(error_of([&] { second.write("z"); }), "");
  EXPECT_NE(error_of([&] { second.commit(); }), "");
}

TEST_F(FileSystem, HookSeesWritesSyncsAndTheRenameInOrder) {
  std::vector<std::string> operations;
  set_file_hook([&](std::string_view operation, const std::filesystem::path& path) {
    operations.push_back(std::string(operation) + " " + path.filename().string());
  });
  write_file(scratch_ / "a", "text");
  EXPECT_THAT(operations, ElementsAre("write a", "sync a", "rename a",
                                      "sync " + scratch_.path().filename().string()));
}

TEST_F(FileSystem, ThrowingHooksLeaveTheOldFileAndNoTemporary) {
  spill(scratch_ / "a", "old");
  for (const std::string failing : {"write", "sync", "rename"}) {
    set_file_hook([&](std::string_view operation, const std::filesystem::path&) {
      if (operation == failing) throw Error("injected");
    });
    EXPECT_EQ(error_of([&] { write_file(scratch_ / "a", "new"); }), "injected");
    EXPECT_EQ(slurp(scratch_ / "a"), "old") << failing;
    EXPECT_EQ(scratch_.names(), Names{"a"}) << failing;
  }
}

// A file size limit makes the kernel refuse the write: a real failure in the middle of the data.
TEST_F(FileSystem, FailingWriteNamesPathAndReason) {
  spill(scratch_ / "a", "old");
  const auto path = scratch_ / "a";
  const int status = run_in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100'000, 100'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      write_file(path, std::string(5'000'000, 'x'));
    } catch (const Error& error) {
      spill(path.parent_path() / "message", error.what());
    }
  });
  ASSERT_TRUE(ended_well(status));
  const std::string message = slurp(scratch_ / "message");
  EXPECT_THAT(message, StartsWith(path.string()));
  EXPECT_THAT(message, HasSubstr("File too large"));
  EXPECT_EQ(slurp(path), "old");
  EXPECT_EQ(scratch_.names(), (Names{"a", "message"}));
}

/// Mounts a file system of 1 MiB at `directory` in a mount namespace of this process alone.
bool mount_small_disk(const std::filesystem::path& directory) {
  return ::unshare(CLONE_NEWNS) == 0 &&
         ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("tmpfs", directory.c_str(), "tmpfs", 0, "size=1m") == 0;
}

TEST_F(FileSystem, FullDiskNamesPathAndReason) {
  const auto directory = scratch_ / "disk";
  std::filesystem::create_directory(directory);
  constexpr int kNotPermitted = 77;
  const int status = run_in_child([&] {
    if (!mount_small_disk(directory)) ::_exit(kNotPermitted);
    write_file(directory / "a", "old");
    std::string message;
    try {
      write_file(directory / "a", std::string(5'000'000, 'x'));
    } catch (const Error& error) {
      message = error.what();
    }
    const bool is_alone = std::distance(std::filesystem::directory_iterator(directory), {}) == 1;
    spill(scratch_ / "message",
          message + "|" + slurp(directory / "a") + "|" + (is_alone ? "alone" : "not alone"));
  });
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNotPermitted) {
    GTEST_SKIP()
        << "mounting is not permitted here; FailingWriteNamesPathAndReason covers the same path";
  }
  ASSERT_TRUE(ended_well(status));
  const std::string message = slurp(scratch_ / "message");
  EXPECT_THAT(message, StartsWith((directory / "a").string()));
  EXPECT_THAT(message, HasSubstr("No space left on device|old|alone"));
}

TEST_F(FileSystem, MissingDirectoryIsAnError) {
  EXPECT_THAT(error_of([&] { write_file(scratch_ / "no/a", "x"); }),
              HasSubstr("No such file or directory"));
  EXPECT_THAT(error_of([&] { write_file("", "x"); }), HasSubstr("names no file"));
}

TEST_F(FileSystem, TargetThatIsADirectoryIsAnError) {
  std::filesystem::create_directory(scratch_ / "a");
  EXPECT_THAT(error_of([&] { write_file(scratch_ / "a", "x"); }),
              StartsWith((scratch_ / "a").string() + ": "));
  EXPECT_EQ(scratch_.names(), Names{"a"});
}

TEST_F(FileSystem, ReadFile) {
  const std::string text("with\0zero\n", 10);
  spill(scratch_ / "a", text);
  spill(scratch_ / "empty", "");
  EXPECT_EQ(read_file(scratch_ / "a"), text);
  EXPECT_EQ(read_file(scratch_ / "empty"), "");
  EXPECT_EQ(error_of([&] { read_file(scratch_ / "b"); }),
            (scratch_ / "b").string() + ": cannot read: No such file or directory");
  EXPECT_EQ(error_of([&] { read_file(scratch_.path()); }),
            scratch_.path().string() + ": cannot read: not a regular file");
}

TEST_F(FileSystem, AppendLineAddsOneLine) {
  append_line(scratch_ / "log", "one");
  append_line(scratch_ / "log", "two");
  EXPECT_EQ(slurp(scratch_ / "log"), "one\ntwo\n");
}

TEST_F(FileSystem, AppendLineStartsANewLineAfterAKilledWriter) {
  spill(scratch_ / "log", "one\ntw");
  append_line(scratch_ / "log", "three");
  EXPECT_EQ(slurp(scratch_ / "log"), "one\ntw\nthree\n");
}

TEST_F(FileSystem, RequireFreeDisk) {
  require_free_disk(scratch_.path(), 1, "a byte");
  require_free_disk(scratch_ / "not/yet/there", 1, "a byte");
  const std::string message =
      error_of([&] { require_free_disk(scratch_.path(), uint64_t{1} << 62, "the index"); });
  EXPECT_THAT(message, StartsWith(scratch_.path().string() + ": the index needs 4.6 EB, "));
}

}  // namespace
}  // namespace retro
