// What the process holds in memory, and how it treats memory it has freed.
#pragma once

#include <cstdint>

namespace retro {

/// Bytes of the process in memory now, pages of mapped files among them.
int64_t resident_bytes();

/// Gives freed blocks back to the system, which otherwise stay with the process between two phases
/// of work.
void return_freed_memory();

/// Freed blocks of any size stay with the process and are used again. The allocator otherwise
/// returns every block above 32 MiB, and each training step has the kernel clear the same pages
/// anew. For processes that allocate the same large tensors again and again.
void keep_freed_memory();

}  // namespace retro
