// What the process holds in memory, and how it treats memory it has freed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace retro {

/// Bytes of the process in memory now, pages of mapped files among them.
int64_t resident_bytes();

/// Pages of a mapped file that were read need not stay in memory: whoever reads them again gets
/// them from the file. `bytes` lie in a read-only map; pages they share with their neighbours go
/// too.
void release_pages(std::span<const std::byte> bytes);

/// Gives freed blocks back to the system, which otherwise stay with the process between two phases
/// of work.
void return_freed_memory();

/// Freed blocks of any size stay with the process and are used again. The allocator otherwise
/// returns every block above 32 MiB, and each training step has the kernel clear the same pages
/// anew. For processes that allocate the same large tensors again and again.
void keep_freed_memory();

}  // namespace retro
