// A process is killed before each write, sync and rename; what it leaves must be the old or the new
// state, whole.
#include <array>
#include <cerrno>
#include <cstddef>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "retro/core/file_system.h"

#include "core/test_support.h"

namespace retro {
namespace {

using testing::ended_well;
using testing::run_in_child;
using testing::slurp;
using testing::spill;
using testing::was_killed;

namespace fs = std::filesystem;
using Names = std::set<std::string>;

/// A hook that kills this process at its call number `fatal_call`, counted from 0.
FileHook killer(int fatal_call) {
  return [left = fatal_call](std::string_view, const fs::path&) mutable {
    if (left-- == 0) ::raise(SIGKILL);
  };
}

/// Runs `work` in children that are killed at call 0, 1, 2, ...; `check` looks at what each leaves.
/// Returns how many were killed before one ended well.
int kill_at_every_call(const std::function<void()>& work, const std::function<void(int)>& check) {
  for (int fatal_call = 0; fatal_call < 1000; ++fatal_call) {
    const int status = run_in_child([&] {
      set_file_hook(killer(fatal_call));
      work();
    });
    check(fatal_call);
    if (ended_well(status)) return fatal_call;
    EXPECT_TRUE(was_killed(status)) << "status " << status;
    if (!was_killed(status)) return -1;
  }
  return -1;
}

// Calls of write_file with 3 MB: write, sync, rename, sync of the directory.
TEST(Kill, AtomicFileLeavesOldOrNew) {
  const testing::ScratchDirectory scratch;
  const std::string text(3'000'000, 'n');
  std::vector<std::string> states;
  const int kills = kill_at_every_call([&] { write_file(scratch / "a", text); },
                                       [&](int) {
                                         states.push_back(slurp(scratch / "a"));
                                         spill(scratch / "a", "old");
                                       });
  EXPECT_EQ(kills, 4);
  EXPECT_EQ(states, (std::vector<std::string>{"", "old", "old", text, text}));
  write_file(scratch / "a", "after");
  EXPECT_EQ(scratch.names(), Names{"a"}) << "leftovers of the dead are removed";
}

TEST(Kill, StreamedFileLeavesOldOrNew) {
  const testing::ScratchDirectory scratch;
  spill(scratch / "a", "old");
  const std::string piece(600'000, 'p');
  const auto work = [&] {
    AtomicFile file(scratch / "a");
    for (int i = 0; i < 5; ++i) file.write(piece);
    file.write_at(0, std::as_bytes(std::span("HEAD", 4)));
    file.commit();
  };
  std::string whole;
  for (int i = 0; i < 5; ++i) whole += piece;
  whole.replace(0, 4, "HEAD");
  int num_old = 0;
  const int kills = kill_at_every_call(work, [&](int) {
    const std::string state = slurp(scratch / "a");
    EXPECT_TRUE(state == "old" || state == whole) << state.size() << " bytes";
    num_old += state == "old" ? 1 : 0;
  });
  // Five writes of 0.6 MB through 1 MiB: one each but the first; one before the header, the header
  // itself.
  EXPECT_EQ(kills, 4 + 1 + 1 + 3);
  EXPECT_EQ(num_old, kills - 1) << "only the kill at the last sync sees the new file";
}

Names names_in(const fs::path& directory) {
  Names names;
  for (const auto& entry : fs::directory_iterator(directory)) names.insert(entry.path().filename());
  return names;
}

TEST(Kill, DirectoryIsReplacedInOneStep) {
  const testing::ScratchDirectory scratch;
  const fs::path directory = scratch / "d";
  const auto work = [&](const std::string& content) {
    write_directory(directory, [&](const fs::path& temporary) {
      write_file(temporary / "a", content);
      write_file(temporary / "b", content);
    });
  };
  work("old");
  int num_new = 0;
  const int kills = kill_at_every_call([&] { work("new"); },
                                       [&](int) {
                                         ASSERT_EQ(names_in(directory), (Names{"a", "b"}));
                                         EXPECT_EQ(slurp(directory / "a"), slurp(directory / "b"));
                                         num_new += slurp(directory / "a") == "new" ? 1 : 0;
                                         work("old");
                                         EXPECT_EQ(scratch.names(), Names{"d"});
                                       });
  // Two files of four calls each, two files and one directory synced, the rename, the parent
  // synced.
  EXPECT_EQ(kills, 2 * 4 + 3 + 1 + 1);
  EXPECT_EQ(num_new, 2) << "the kill at the last sync, and the child that ended well";
}

TEST(Kill, NewDirectoryAppearsWholeOrNotAtAll) {
  const testing::ScratchDirectory scratch;
  const fs::path directory = scratch / "d";
  const auto work = [&] {
    write_directory(directory,
                    [&](const fs::path& temporary) { write_file(temporary / "a", "new"); });
  };
  int num_there = 0;
  const int kills = kill_at_every_call(work, [&](int) {
    if (fs::exists(directory)) {
      EXPECT_EQ(slurp(directory / "a"), "new");
      ++num_there;
    }
    fs::remove_all(directory);
  });
  EXPECT_EQ(kills, 4 + 2 + 1 + 1);
  EXPECT_EQ(num_there, 2);
}

/// From here on renaming with flags fails in this process, as on file systems that cannot exchange
/// names (NFS).
bool forbid_exchange() {
  const uint32_t flags_offset = offsetof(seccomp_data, args) + 4 * sizeof(uint64_t);
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, flags_offset),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{std::size(program), program};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

// Two renames instead of one: between them the old state has another name, and recovering brings it
// back.
TEST(Kill, DirectoryIsReplacedWithoutExchange) {
  if (!ended_well(run_in_child([] {
        if (!forbid_exchange()) throw std::runtime_error("no filter");
      }))) {
    GTEST_SKIP() << "system calls cannot be filtered here";
  }
  const testing::ScratchDirectory scratch;
  const fs::path directory = scratch / "d";
  const auto work = [&](const std::string& content) {
    write_directory(directory,
                    [&](const fs::path& temporary) { write_file(temporary / "a", content); });
  };
  work("old");
  std::vector<std::string> states;
  const int kills = kill_at_every_call(
      [&] {
        forbid_exchange();
        work("new");
      },
      [&](int) {
        recover_directory(directory);
        states.push_back(slurp(directory / "a"));
        work("old");
        EXPECT_EQ(scratch.names(), Names{"d"});
      });
  // A file of four calls, its and the directory's sync, a hook before each rename, the parent's
  // sync.
  EXPECT_EQ(kills, 4 + 2 + 2 + 1);
  const std::vector<std::string> expected{"old", "old", "old", "old", "old",
                                          "old", "old", "old", "new", "new"};
  EXPECT_EQ(states, expected);
}

/// A child that holds a temporary of `target` until it is told to end.
class LivingWriter {
 public:
  explicit LivingWriter(const fs::path& target) {
    if (::pipe(ready_.data()) != 0) throw std::runtime_error("no pipe");
    child_ = ::fork();
    if (child_ == 0) {
      const AtomicFile file(target);
      if (::write(ready_[1], "x", 1) == 1) ::pause();
      ::_exit(0);
    }
    char letter = 0;
    if (::read(ready_[0], &letter, 1) != 1) throw std::runtime_error("the child is not ready");
  }
  void kill() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }

 private:
  std::array<int, 2> ready_{};
  pid_t child_ = -1;
};

TEST(Kill, TemporariesOfTheLivingStayThoseOfTheDeadGo) {
  const testing::ScratchDirectory scratch;
  LivingWriter writer(scratch / "a");
  write_file(scratch / "a", "mine");
  EXPECT_EQ(scratch.names().size(), 2U) << "the file and the other writer's temporary";
  writer.kill();
  write_file(scratch / "a", "mine");
  EXPECT_EQ(scratch.names(), Names{"a"});
}

// In containers a restarted program often gets the process number of the one that died.
TEST(Kill, LeftoverWithThisProcessNumberGoes) {
  const testing::ScratchDirectory scratch;
  const std::string number = std::to_string(::getpid());
  spill(scratch / ("a.tmp-" + number + "-0"), "leftover");
  AtomicFile living(scratch / "a");
  living.write("living");
  write_file(scratch / "a", "mine");
  living.commit();
  EXPECT_EQ(scratch.names(), Names{"a"});
  EXPECT_EQ(slurp(scratch / "a"), "living");
}

TEST(Kill, OtherNamesAreLeftAlone) {
  const testing::ScratchDirectory scratch;
  const Names others{"a.tmp",    "a.tmp-", "a.tmp-notes", "a.tmp-0-1", "b.tmp-999999999-0",
                     "a.retired"};
  for (const std::string& name : others) spill(scratch / name, "keep");
  write_file(scratch / "a", "mine");
  Names expected = others;
  expected.insert("a");
  EXPECT_EQ(scratch.names(), expected);
}

}  // namespace
}  // namespace retro
