// How the process treats memory it has freed.
#pragma once

namespace retro {

/// Freed blocks of any size stay with the process and are used again. The allocator otherwise
/// returns every block above 32 MiB, and each training step has the kernel clear the same pages
/// anew. For processes that allocate the same large tensors again and again.
void keep_freed_memory();

}  // namespace retro
