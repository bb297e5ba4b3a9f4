#include "scratch.h"

#include <cstdlib>
#include <memory>
#include <new>

namespace retro {

namespace {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

}  // namespace

void* thread_scratch(size_t bytes) {
  thread_local std::unique_ptr<void, Free> block;
  thread_local size_t capacity = 0;
  if (bytes > capacity) {
    const size_t rounded = (bytes + 4095) / 4096 * 4096;
    block.reset();
    capacity = 0;
    block.reset(std::aligned_alloc(64, rounded));
    if (!block) throw std::bad_alloc();
    capacity = rounded;
  }
  return block.get();
}

}  // namespace retro
