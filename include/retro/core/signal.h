// Ctrl-C and Ctrl-Z as flags, so that long work can save itself first, and children stop too.
#pragma once

namespace retro {

/// Exit status after an interruption that was answered in good order.
inline constexpr int kInterruptedExitStatus = 130;

/// While one lives, SIGINT and SIGTERM only raise the flag; a second one ends the process at once,
/// but for a SIGTERM within two seconds, which is the same request from another sender. SIGPIPE is
/// ignored. Restores the earlier handlers. The outermost guard clears the flag when it begins.
/// Create it on the main thread.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

/// True once a signal came while a guard lived. Any thread.
bool interrupt_requested();

/// While one lives, Ctrl-Z (SIGTSTP) only raises a flag: a terminal does not reach children in
/// process groups of their own, which have to be stopped first. A signal that is ignored stays so.
/// One at a time, on the main thread.
class SuspendGuard {
 public:
  SuspendGuard();
  ~SuspendGuard();
  SuspendGuard(const SuspendGuard&) = delete;
  SuspendGuard& operator=(const SuspendGuard&) = delete;
};

/// True once SIGTSTP came while a SuspendGuard lived.
bool suspend_requested();
/// Does what SIGTSTP would have done, and lowers the flag; returns when this process goes on.
void suspend_now();

}  // namespace retro
