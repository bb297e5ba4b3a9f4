#include "scratch.h"

#include <array>
#include <cstdlib>
#include <memory>
#include <new>

namespace retro {

namespace {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

struct Block {
  std::unique_ptr<void, Free> memory;
  size_t capacity = 0;

  void grow(size_t bytes) {
    constexpr size_t kPage = 4096;
    const size_t rounded = (bytes + kPage - 1) / kPage * kPage;
    memory.reset();
    capacity = 0;
    memory.reset(std::aligned_alloc(kPage, rounded));
    if (!memory) throw std::bad_alloc();
    capacity = rounded;
  }
};

}  // namespace

void* thread_scratch(ScratchSlot slot, size_t bytes) {
  thread_local std::array<Block, static_cast<size_t>(ScratchSlot::kCount)> blocks;
  Block& block = blocks[static_cast<size_t>(slot)];
  if (bytes > block.capacity) block.grow(bytes);
  return block.memory.get();
}

}  // namespace retro
