#include "retro/core/signal.h"

#include <atomic>
#include <cstdint>

#include <signal.h>
#include <time.h>

namespace retro {
namespace {

// Handlers may only touch lock-free atomics.
std::atomic<bool> is_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);
int num_guards = 0;
struct sigaction earlier_interrupt;
struct sigaction earlier_terminate;
struct sigaction earlier_pipe;
std::atomic<int64_t> first_second{0};
static_assert(std::atomic<int64_t>::is_always_lock_free);
std::atomic<bool> is_suspend_requested{false};
struct sigaction earlier_stop;

int64_t monotonic_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);  // safe in a handler
  return now.tv_sec;
}

extern "C" void raise_flag(int signal_number) {
  // A service manager ends all processes of a run; the parent then passes the same request on.
  constexpr int64_t kSameRequestSeconds = 2;
  if (!is_requested.exchange(true)) {
    first_second = monotonic_seconds();
    return;
  }
  if (signal_number == SIGTERM && monotonic_seconds() - first_second < kSameRequestSeconds) return;
  ::signal(signal_number, SIG_DFL);
  ::raise(signal_number);
}

extern "C" void raise_suspend_flag(int) { is_suspend_requested = true; }

}  // namespace

InterruptGuard::InterruptGuard() {
  if (num_guards++ > 0) return;
  is_requested = false;
  struct sigaction action {};
  action.sa_handler = raise_flag;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, &earlier_interrupt);
  ::sigaction(SIGTERM, &action, &earlier_terminate);
  // Ctrl-C ends the reader of a pipe too (`retro run ... | tee log`): work is saved all the same.
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &action, &earlier_pipe);
}

InterruptGuard::~InterruptGuard() {
  if (--num_guards > 0) return;
  ::sigaction(SIGINT, &earlier_interrupt, nullptr);
  ::sigaction(SIGTERM, &earlier_terminate, nullptr);
  ::sigaction(SIGPIPE, &earlier_pipe, nullptr);
}

bool interrupt_requested() { return is_requested; }

SuspendGuard::SuspendGuard() {
  is_suspend_requested = false;
  struct sigaction action {};
  action.sa_handler = raise_suspend_flag;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGTSTP, &action, &earlier_stop);
  if (earlier_stop.sa_handler == SIG_IGN) ::sigaction(SIGTSTP, &earlier_stop, nullptr);
}

SuspendGuard::~SuspendGuard() { ::sigaction(SIGTSTP, &earlier_stop, nullptr); }

bool suspend_requested() { return is_suspend_requested; }

void suspend_now() {
  struct sigaction flag_only {};
  ::sigaction(SIGTSTP, &earlier_stop, &flag_only);
  // Not SIGSTOP: without a shell that could continue it, the system lets a process run on.
  ::raise(SIGTSTP);
  ::sigaction(SIGTSTP, &flag_only, nullptr);
  is_suspend_requested = false;
}

}  // namespace retro
