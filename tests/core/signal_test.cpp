#include "retro/core/signal.h"

#include <stdexcept>

#include <gtest/gtest.h>
#include <signal.h>

#include "core/test_support.h"

namespace retro {
namespace {

using testing::ended_well;
using testing::run_in_child;

void expect(bool condition) {
  if (!condition) throw std::runtime_error("not as expected");
}

TEST(InterruptGuard, SignalsOnlyRaiseTheFlag) {
  for (const int number : {SIGINT, SIGTERM}) {
    EXPECT_TRUE(ended_well(run_in_child([&] {
      const InterruptGuard guard;
      expect(!interrupt_requested());
      ::raise(number);
      expect(interrupt_requested());
    })));
  }
}

TEST(InterruptGuard, SecondSignalEndsTheProcess) {
  const int status = run_in_child([] {
    const InterruptGuard guard;
    ::raise(SIGINT);
    ::raise(SIGINT);
  });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
}

TEST(InterruptGuard, RestoresTheEarlierHandlers) {
  const int status = run_in_child([] {
    { const InterruptGuard guard; }
    ::raise(SIGTERM);
  });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
  EXPECT_TRUE(ended_well(run_in_child([] {
    ::signal(SIGINT, SIG_IGN);
    { const InterruptGuard guard; }
    ::raise(SIGINT);
  })));
}

TEST(InterruptGuard, InnerGuardsKeepTheFlagOuterOnesClearIt) {
  EXPECT_TRUE(ended_well(run_in_child([] {
    {
      const InterruptGuard outer;
      ::raise(SIGINT);
      { const InterruptGuard inner; }
      expect(interrupt_requested());
    }
    expect(interrupt_requested());
    const InterruptGuard next;
    expect(!interrupt_requested());
    ::raise(SIGINT);
    expect(interrupt_requested());
  })));
}

TEST(SuspendGuard, CtrlZOnlyRaisesTheFlag) {
  EXPECT_TRUE(ended_well(run_in_child([] {
    const SuspendGuard guard;
    expect(!suspend_requested());
    ::raise(SIGTSTP);
    expect(suspend_requested());
  })));
}

TEST(SuspendGuard, SuspendingStopsUntilTheProcessIsContinued) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setpgid(0, 0);  // a group without its parent can be stopped
    const SuspendGuard guard;
    ::raise(SIGTSTP);
    suspend_now();
    const bool is_lowered = !suspend_requested();
    ::raise(SIGTSTP);
    ::_exit(is_lowered && suspend_requested() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  EXPECT_TRUE(WIFSTOPPED(status));
  ::kill(child, SIGCONT);
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(ended_well(status)) << "the flag is lowered, and the guard still holds";
}

TEST(SuspendGuard, WhatIsIgnoredStaysIgnored) {
  EXPECT_TRUE(ended_well(run_in_child([] {
    ::signal(SIGTSTP, SIG_IGN);
    const SuspendGuard guard;
    ::raise(SIGTSTP);
    expect(!suspend_requested());
  })));
}

}  // namespace
}  // namespace retro
