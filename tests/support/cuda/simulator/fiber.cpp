#include "simulator/fiber.h"

#include <cstdint>
#include <cstdlib>
#include <new>

#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

// swapcontext() saves the signal mask by a system call; a barrier of 256 threads would cost 0.1 ms.
// This is the part that is needed: callee-saved registers and the stack pointer (x86-64, System V).
extern "C" void retro_simulator_switch(void** save_pointer, void* load_pointer);
asm(R"(
.text
.globl retro_simulator_switch
.type retro_simulator_switch,@function
retro_simulator_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size retro_simulator_switch,.-retro_simulator_switch
.globl retro_simulator_trampoline
.type retro_simulator_trampoline,@function
retro_simulator_trampoline:
  movq %r12, %rdi
  callq *%r13
  ud2
.size retro_simulator_trampoline,.-retro_simulator_trampoline
)");
extern "C" void retro_simulator_trampoline();

namespace retro::simulator {

namespace {

constexpr size_t kStackBytes = size_t{256} << 10;  // committed page by page as it is touched

#if defined(__SANITIZE_ADDRESS__)
void leave_stack(void** fake_stack, const void* stack, size_t bytes) {
  __sanitizer_start_switch_fiber(fake_stack, stack, bytes);
}
void arrive(void* fake_stack, const void** old_stack, size_t* old_bytes) {
  __sanitizer_finish_switch_fiber(fake_stack, old_stack, old_bytes);
}
#else
void leave_stack(void**, const void*, size_t) {}
void arrive(void*, const void**, size_t*) {}
#endif

}  // namespace

Fiber::Fiber() {
  void* const memory = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  stack_ = static_cast<std::byte*>(memory);
}

Fiber::~Fiber() { munmap(stack_, kStackBytes); }

void Fiber::start(Entry entry, void* argument) {
  entry_ = entry;
  argument_ = argument;
  own_fake_stack_ = nullptr;
  // What retro_simulator_switch pops: r15, r14, r13, r12, rbx, rbp, and the address it returns to.
  // The stack is then aligned to 16 bytes, as it must be before the trampoline's call.
  auto* top = reinterpret_cast<void**>(stack_ + kStackBytes - 64);
  *--top = reinterpret_cast<void*>(&retro_simulator_trampoline);
  *--top = nullptr;                                 // rbp
  *--top = nullptr;                                 // rbx
  *--top = this;                                    // r12
  *--top = reinterpret_cast<void*>(&Fiber::enter);  // r13
  *--top = nullptr;                                 // r14
  *--top = nullptr;                                 // r15
  own_pointer_ = top;
}

void Fiber::enter(Fiber* fiber) {
  arrive(nullptr, &fiber->caller_stack_, &fiber->caller_stack_bytes_);
  fiber->entry_(fiber->argument_);
  fiber->suspend(true);
  std::abort();
}

void Fiber::resume() {
  leave_stack(&caller_fake_stack_, stack_, kStackBytes);
  retro_simulator_switch(&caller_pointer_, own_pointer_);
  arrive(caller_fake_stack_, nullptr, nullptr);
}

void Fiber::suspend(bool last) {
  leave_stack(last ? nullptr : &own_fake_stack_, caller_stack_, caller_stack_bytes_);
  retro_simulator_switch(&own_pointer_, caller_pointer_);
  arrive(own_fake_stack_, &caller_stack_, &caller_stack_bytes_);
}

}  // namespace retro::simulator
