// The 512-byte header before each file of a tar archive (POSIX ustar); internal to core.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace retro {

/// Headers begin, and files end, at multiples of this.
inline constexpr uint64_t kTarBlockBytes = 512;
using TarHeader = std::array<std::byte, kTarBlockBytes>;

/// A regular file that anyone may read, without owner and time, so that equal content gives equal
/// archives. From 8 GiB on the size is written in base 256, which GNU tar, bsdtar and Python read.
/// Throws Error for a name of more than 99 bytes.
TarHeader tar_header(std::string_view name, uint64_t size_bytes);

/// The size that a header states; whatever the other bytes are.
uint64_t tar_size_of(std::span<const std::byte, kTarBlockBytes> header);

/// `size_bytes` filled up to whole blocks.
constexpr uint64_t tar_padded(uint64_t size_bytes) {
  return (size_bytes + kTarBlockBytes - 1) / kTarBlockBytes * kTarBlockBytes;
}

}  // namespace retro
