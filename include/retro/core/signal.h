// Ctrl-C as a flag, so that long work can save itself first.
#pragma once

namespace retro {

/// Exit status after an interruption that was answered in good order.
inline constexpr int kInterruptedExitStatus = 130;

/// While one lives, SIGINT and SIGTERM only raise the flag; a second one ends the process at once.
/// Restores the earlier handlers. The outermost guard clears the flag when it begins. Create it on
/// the main thread.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

/// True once a signal came while a guard lived. Any thread.
bool interrupt_requested();

}  // namespace retro
