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

}  // namespace
}  // namespace retro
