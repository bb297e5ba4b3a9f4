// A fiber: a stack of its own and a place to continue at. One operating-system thread runs them
// all.
#pragma once

#include <cstddef>

namespace retro::simulator {

class Fiber {
 public:
  using Entry = void (*)(void* argument);

  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// The next resume() calls entry(argument) on an empty stack; what stood there is forgotten.
  void start(Entry entry, void* argument);

  /// Runs the fiber until it suspends itself. Called from the scheduler's stack.
  void resume();

  /// Back to whoever resumed this fiber. Called on the fiber. `last`: it will not be resumed again.
  void suspend(bool last = false);

 private:
  static void enter(Fiber* fiber);

  std::byte* stack_ = nullptr;
  void* own_pointer_ = nullptr;
  void* caller_pointer_ = nullptr;
  Entry entry_ = nullptr;
  void* argument_ = nullptr;
  void* own_fake_stack_ = nullptr;
  void* caller_fake_stack_ = nullptr;
  const void* caller_stack_ = nullptr;
  size_t caller_stack_bytes_ = 0;
};

}  // namespace retro::simulator
