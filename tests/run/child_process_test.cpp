#include "retro/run/child_process.h"

#include <array>
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include "retro/core/log.h"

#include "core/test_support.h"

namespace retro {
namespace {

int wait_for(ChildProcess& child) {
  while (!child.poll(50)) {
  }
  return child.status();
}

TEST(ChildProcess, PassesOnLinesUnderItsLabel) {
  set_log_quiet(false);  // other tests of this program silence it
  ::testing::internal::CaptureStderr();
  ChildProcess child("/bin/sh", {"-c", "echo one; echo two >&2; printf three"}, "work");
  EXPECT_EQ(wait_for(child), 0);
  const std::string printed = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(printed, ::testing::HasSubstr("work | one\n"));
  EXPECT_THAT(printed, ::testing::HasSubstr("work | two\n"));
  EXPECT_THAT(printed, ::testing::HasSubstr("work | three\n"));
}

TEST(ChildProcess, GivesTheExitStatus) {
  ChildProcess child("/bin/sh", {"-c", "exit 7"}, "");
  EXPECT_EQ(wait_for(child), 7);
}

TEST(ChildProcess, ASignalledChildHas128PlusTheSignal) {
  ChildProcess child("/bin/sh", {"-c", "sleep 30"}, "");
  child.send_signal(SIGTERM);
  EXPECT_EQ(wait_for(child), 128 + SIGTERM);
}

// What a terminal's Ctrl-C does.
TEST(ChildProcess, ASignalToTheGroupOfItsParentDoesNotReachIt) {
  const int status = testing::run_in_child([] {
    ::setpgid(0, 0);
    ::signal(SIGINT, [](int) {});  // a handler: what is ignored stays ignored in the child
    ChildProcess child("/bin/sleep", {"0.2"}, "");
    ::kill(0, SIGINT);
    ::_exit(wait_for(child));
  });
  EXPECT_TRUE(testing::ended_well(status));
}

TEST(ChildProcess, ItEndsWithItsParent) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const int status = testing::run_in_child([] {
    const ChildProcess child("/bin/sleep", {"60"}, "");
    ::raise(SIGKILL);
  });
  EXPECT_TRUE(testing::was_killed(status));
  ::close(ends[1]);
  // Its end closes the last descriptor of the writing end.
  pollfd waiting{ends[0], POLLIN, 0};
  ASSERT_EQ(::poll(&waiting, 1, 20'000), 1);
  EXPECT_NE(waiting.revents & POLLHUP, 0);
  ::close(ends[0]);
}

TEST(ChildProcess, AnInterruptIsPassedOnAndWaitedFor) {
  const int status = testing::run_in_child([] {
    ChildProcess child(
        "/bin/sh", {"-c", "trap 'exit 7' TERM; kill -INT $PPID; while :; do sleep 0.05; done"}, "");
    ::_exit(run_to_end(child));
  });
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST(ChildProcess, AMissingProgramIsStatus127) {
  ChildProcess child("/no/such/program", {}, "");
  EXPECT_EQ(wait_for(child), 127);
}

}  // namespace
}  // namespace retro
