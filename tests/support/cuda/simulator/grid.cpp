#include "simulator/grid.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cuda_runtime.h"
#include "simulator/error.h"
#include "simulator/fiber.h"

namespace retro::simulator {

namespace {

constexpr size_t kExchangeBytes = 64;

enum class State { kRunnable, kAtWarpBarrier, kAtBlockBarrier, kDone };

struct Thread {
  Fiber fiber;
  State state = State::kDone;
  Moment moment;
  uint32_t mask = 0;
  const char* file = "";
  int line = 0;
  bool exchange_parity = false;
  // Two sets, so that a lane may publish again while others still read what it published before.
  alignas(16) std::array<std::array<std::byte, kExchangeBytes>, 2> exchange;
  std::vector<PendingCopy> copies;
  int copy_group = 0;
};

struct StaticArray {
  std::vector<std::byte> memory;
  std::unique_ptr<Region> region;
};

struct Machine {
  std::mt19937_64 random{1};
  std::vector<std::unique_ptr<Thread>> threads;  // kept over launches: stacks are expensive
  size_t num_threads = 0;
  Thread* current = nullptr;
  const std::function<void()>* body = nullptr;
  std::exception_ptr error;
  std::vector<std::byte> shared;
  std::unique_ptr<Region> shared_region;
  std::map<const void*, StaticArray> static_arrays;
  uint32_t next_block_run = 2;  // 1: what the host wrote before the first launch
};

Machine& machine() {
  static Machine instance;
  return instance;
}

std::string place(const Thread& thread) {
  return std::string(thread.file) + ":" + std::to_string(thread.line);
}

void thread_main(void*) {
  Machine& m = machine();
  try {
    (*m.body)();
  } catch (...) {
    m.error = std::current_exception();
  }
  m.current->state = State::kDone;
}

uint3 index_in(Extent extent, uint64_t linear) {
  return {static_cast<unsigned>(linear % extent.x),
          static_cast<unsigned>(linear / extent.x % extent.y),
          static_cast<unsigned>(linear / extent.x / extent.y)};
}

void run_thread(Machine& m, size_t index, Extent block) {
  Thread& thread = *m.threads[index];
  m.current = &thread;
  threadIdx = index_in(block, index);
  now = thread.moment;
  thread.fiber.resume();
  thread.moment = now;
  if (m.error) std::rethrow_exception(std::exchange(m.error, nullptr));
}

void suspend(State state, const char* file, int line) {
  Thread& thread = *machine().current;
  thread.state = state;
  thread.file = file;
  thread.line = line;
  thread.fiber.suspend();
}

/// All lanes named by a waiting lane's mask must wait at warp barriers with that mask.
void release_warp(Machine& m, size_t first, size_t last) {
  for (size_t index = first; index < last; ++index) {
    const Thread& thread = *m.threads[index];
    if (thread.state != State::kAtWarpBarrier) continue;
    for (size_t other = first; other < first + kWarpSize; ++other) {
      if ((thread.mask >> (other - first) & 1) == 0) continue;
      const bool is_there = other < last && m.threads[other]->state == State::kAtWarpBarrier &&
                            m.threads[other]->mask == thread.mask;
      if (!is_there) {
        throw SimulatorError("divergent warp: thread " + std::to_string(index) + " waits at " +
                             place(thread) + " for thread " + std::to_string(other) +
                             (other < last ? " which is at " + place(*m.threads[other])
                                           : std::string(" which does not exist")));
      }
    }
  }
  for (size_t index = first; index < last; ++index) {
    if (m.threads[index]->state == State::kAtWarpBarrier) {
      m.threads[index]->state = State::kRunnable;
    }
  }
}

bool any_in_state(const Machine& m, size_t first, size_t last, State state) {
  return std::any_of(m.threads.begin() + static_cast<std::ptrdiff_t>(first),
                     m.threads.begin() + static_cast<std::ptrdiff_t>(last),
                     [&](const auto& thread) { return thread->state == state; });
}

/// Runs every runnable lane to its next barrier; false when none was.
bool run_warp(Machine& m, size_t first, Extent block) {
  const size_t last = std::min(first + kWarpSize, m.num_threads);
  std::array<size_t, kWarpSize> order;
  std::iota(order.begin(), order.end(), first);
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(last - first);
  std::shuffle(order.begin(), end, m.random);
  bool ran = false;
  for (auto index = order.begin(); index != end; ++index) {
    if (m.threads[*index]->state != State::kRunnable) continue;
    run_thread(m, *index, block);
    ran = true;
  }
  if (any_in_state(m, first, last, State::kAtWarpBarrier)) release_warp(m, first, last);
  return ran;
}

void release_block(Machine& m) {
  const Thread* waiting = nullptr;
  for (size_t index = 0; index < m.num_threads; ++index) {
    const Thread& thread = *m.threads[index];
    if (thread.state == State::kAtBlockBarrier) waiting = &thread;
  }
  if (waiting == nullptr) return;
  for (size_t index = 0; index < m.num_threads; ++index) {
    Thread& thread = *m.threads[index];
    const bool is_there = thread.state == State::kAtBlockBarrier && thread.line == waiting->line &&
                          std::strcmp(thread.file, waiting->file) == 0;
    if (!is_there) {
      throw SimulatorError("divergent barrier: " + place(*waiting) + " is not reached by thread " +
                           std::to_string(index) + ", which " +
                           (thread.state == State::kDone ? "returned" : "is at " + place(thread)));
    }
  }
  for (size_t index = 0; index < m.num_threads; ++index) {
    m.threads[index]->state = State::kRunnable;
    ++m.threads[index]->moment.block_barriers;
  }
}

void start_block(Machine& m) {
  std::fill(m.shared.begin(), m.shared.end(), std::byte{0xcd});
  for (auto& [tag, array] : m.static_arrays) {
    std::fill(array.memory.begin(), array.memory.end(), std::byte{0xcd});
  }
  const uint32_t run = m.next_block_run++;
  for (size_t index = 0; index < m.num_threads; ++index) {
    Thread& thread = *m.threads[index];
    thread.state = State::kRunnable;
    thread.moment = {.block_run = run, .thread = static_cast<uint16_t>(index)};
    thread.copies.clear();
    thread.copy_group = 0;
    thread.exchange_parity = false;
    thread.file = "its start";
    thread.line = 0;
    thread.fiber.start(&thread_main, nullptr);
  }
}

void run_block(Machine& m, Extent block) {
  start_block(m);
  std::vector<size_t> warps((m.num_threads + kWarpSize - 1) / kWarpSize);
  std::iota(warps.begin(), warps.end(), size_t{0});
  do {
    bool ran = true;
    while (ran) {
      ran = false;
      std::shuffle(warps.begin(), warps.end(), m.random);
      for (const size_t warp : warps) ran = run_warp(m, warp * kWarpSize, block) || ran;
    }
    release_block(m);
  } while (any_in_state(m, 0, m.num_threads, State::kRunnable));
}

}  // namespace

void set_seed(uint64_t seed) { machine().random.seed(seed); }

void run_grid(Extent grid, Extent block, size_t shared_bytes, const std::function<void()>& body) {
  Machine& m = machine();
  if (block.count() == 0 || block.count() > 1024 || grid.count() == 0 || grid.y > 65535 ||
      grid.z > 65535 || shared_bytes > largest_shared_bytes) {
    throw SimulatorError("a launch beyond the device's limits: " + std::to_string(grid.count()) +
                         " blocks of " + std::to_string(block.count()) + " threads with " +
                         std::to_string(shared_bytes) + " bytes of shared memory, of " +
                         std::to_string(largest_shared_bytes));
  }
  m.num_threads = block.count();
  m.body = &body;
  m.error = nullptr;
  while (m.threads.size() < m.num_threads) m.threads.push_back(std::make_unique<Thread>());
  // More than asked for, so that its begin can be aligned.
  m.shared.assign(shared_bytes + 256, std::byte{});
  m.shared_region = std::make_unique<Region>("dynamic shared memory", Region::Kind::kShared,
                                             dynamic_shared_memory(), shared_bytes, 2, false);
  m.static_arrays.clear();
  first_block_run_of_launch = m.next_block_run;
  blockDim = {block.x, block.y, block.z};
  gridDim = {grid.x, grid.y, grid.z};
  std::vector<uint64_t> order(grid.count());
  std::iota(order.begin(), order.end(), uint64_t{0});
  std::shuffle(order.begin(), order.end(), m.random);
  for (const uint64_t index : order) {
    blockIdx = index_in(grid, index);
    run_block(m, block);
  }
}

void block_barrier(const char* file, int line) { suspend(State::kAtBlockBarrier, file, line); }

void warp_barrier(uint32_t mask, const char* file, int line) {
  machine().current->mask = mask;
  suspend(State::kAtWarpBarrier, file, line);
  ++now.warp_barriers;
}

void warp_exchange(uint32_t mask, const void* value, size_t bytes, const char* file, int line) {
  Thread& thread = *machine().current;
  if (mask != 0xffffffffu) throw SimulatorError("shuffles and votes take the whole warp here");
  if (bytes > kExchangeBytes) throw SimulatorError("warp_exchange: too many bytes");
  thread.exchange_parity = !thread.exchange_parity;
  std::memcpy(thread.exchange[thread.exchange_parity].data(), value, bytes);
  thread.mask = mask;
  suspend(State::kAtWarpBarrier, file, line);
}

const void* published(int lane) {
  Machine& m = machine();
  const size_t index = m.current->moment.thread / kWarpSize * kWarpSize + static_cast<size_t>(lane);
  // The reader's parity: a faster lane may have published its next value already.
  return m.threads.at(index)->exchange[m.current->exchange_parity].data();
}

int lane_of_current_thread() { return machine().current->moment.thread % kWarpSize; }
int thread_of_current_thread() { return machine().current->moment.thread; }
int num_threads_of_block() { return static_cast<int>(machine().num_threads); }

std::byte* dynamic_shared_memory() {
  const auto address = reinterpret_cast<uintptr_t>(machine().shared.data());
  return machine().shared.data() + (256 - address % 256) % 256;
}

Region* dynamic_shared_region() { return machine().shared_region.get(); }

std::byte* static_shared_memory(const void* tag, size_t bytes, Region** region) {
  StaticArray& array = machine().static_arrays[tag];
  if (array.region == nullptr) {
    array.memory.assign(bytes, std::byte{0xcd});
    array.region = std::make_unique<Region>("static shared memory", Region::Kind::kShared,
                                            array.memory.data(), bytes, 2, false);
  }
  *region = array.region.get();
  return array.memory.data();
}

void add_copy(std::function<void()> perform) {
  Thread& thread = *machine().current;
  thread.copies.push_back({std::move(perform), thread.copy_group});
}

void commit_copies() { ++machine().current->copy_group; }

void wait_copies(int groups_left) {
  Thread& thread = *machine().current;
  const int last = thread.copy_group - groups_left;
  for (const PendingCopy& copy : thread.copies) {
    if (copy.group < last) copy.perform();
  }
  std::erase_if(thread.copies, [&](const PendingCopy& copy) { return copy.group < last; });
}

}  // namespace retro::simulator
