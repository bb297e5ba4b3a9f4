// Read-only memory map of a file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace retro {

/// Move-only. An empty file maps to an empty span. Throws Error naming the path.
class MappedFile {
 public:
  MappedFile() = default;
  explicit MappedFile(std::filesystem::path path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  /// How the bytes will be read: in order (read ahead more) or here and there (read single pages).
  enum class Access { kNormal, kSequential, kRandom };
  /// A hint to the system; changes nothing but speed.
  void advise(Access access) const;

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  void unmap() noexcept;
  std::filesystem::path path_;
  std::span<const std::byte> bytes_;
};

}  // namespace retro
