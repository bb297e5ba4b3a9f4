// Per-thread working memory of the CPU kernels.
#pragma once

#include <cstddef>

namespace retro {

/// At least `bytes` of 64-byte aligned memory that belongs to the calling thread until its next
/// call. It is kept between calls: a fresh block of this size would cost page faults in every
/// operation.
void* thread_scratch(size_t bytes);

}  // namespace retro
