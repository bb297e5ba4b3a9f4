// Loops over independent blocks on several threads, for layers without Torch.
#pragma once

#include <cstdint>
#include <functional>

namespace retro {

/// Processors this process may use: its affinity mask and its container's quota. At least 1.
int default_thread_count();

/// Calls `body(begin, end)` for blocks that cover [0, count) once, on up to `num_threads` threads
/// (0: as many as `default_thread_count`), the caller's among them. Blocks are handed out as
/// threads become free; which thread takes which is not defined, so the body writes only to places
/// that belong to its block. The first exception stops the remaining blocks and is thrown to the
/// caller. `block_size` of 0 means about eight blocks a thread.
void parallel_for(int64_t count, int num_threads,
                  const std::function<void(int64_t begin, int64_t end)>& body,
                  int64_t block_size = 0);

}  // namespace retro
