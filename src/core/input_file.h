// A file opened for reading, in the file system or in a bundle; internal to core.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "posix.h"

namespace retro {

struct InputFile {
  posix::FileDescriptor file;
  uint64_t offset = 0;  ///< where its content begins
  uint64_t size_bytes = 0;
};

/// Throws Error naming the path, also for a file of a bundle that does not match its hash.
InputFile open_input(const std::filesystem::path& path);

/// Fills `bytes` from `offset` of the file on. Throws Error naming `path` if there are fewer.
void read_exactly(const posix::FileDescriptor& file, uint64_t offset, std::span<std::byte> bytes,
                  const std::filesystem::path& path);

}  // namespace retro
