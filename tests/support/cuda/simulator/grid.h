// Runs a kernel's grid: block after block, the threads of a block as fibers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "simulator/shadow.h"

namespace retro::simulator {

struct Extent {
  unsigned x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t{x} * y * z; }
};

inline constexpr int kWarpSize = 32;

/// The most shared memory that a block may have, as on compute capability 9.0; set by tests to what
/// smaller devices have.
inline constexpr size_t kLargestSharedBytes = size_t{227} << 10;
inline size_t largest_shared_bytes = kLargestSharedBytes;

/// Seed of the order in which blocks, warps and threads run.
void set_seed(uint64_t seed);

/// Runs `body` once per thread of the grid. Throws SimulatorError for what a kernel does wrong:
/// bounds, races, uninitialised reads, barriers that not all threads reach.
void run_grid(Extent grid, Extent block, size_t shared_bytes, const std::function<void()>& body);

/// Called by the threads of the running block.
void block_barrier(const char* file, int line);
void warp_barrier(uint32_t mask, const char* file, int line);

/// Like warp_barrier, but orders no memory: what shuffles and matrix instructions do. Lanes publish
/// `bytes` at `value` and afterwards read those of others with published().
void warp_exchange(uint32_t mask, const void* value, size_t bytes, const char* file, int line);
const void* published(int lane);

int lane_of_current_thread();
int thread_of_current_thread();
int num_threads_of_block();

/// Dynamic shared memory of the running block, and static arrays, named by the address of a tag.
std::byte* dynamic_shared_memory();
Region* dynamic_shared_region();
std::byte* static_shared_memory(const void* tag, size_t bytes, Region** region);

/// Asynchronous copies of the current thread: they take place when they are waited for.
struct PendingCopy {
  std::function<void()> perform;
  int group;
};
void add_copy(std::function<void()> perform);
void commit_copies();
void wait_copies(int groups_left);

}  // namespace retro::simulator
