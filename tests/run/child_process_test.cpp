#include "retro/run/child_process.h"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "retro/core/log.h"

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

TEST(ChildProcess, AMissingProgramIsStatus127) {
  ChildProcess child("/no/such/program", {}, "");
  EXPECT_EQ(wait_for(child), 127);
}

}  // namespace
}  // namespace retro
