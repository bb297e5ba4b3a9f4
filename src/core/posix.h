// Thin owners and error texts around POSIX file calls; internal to core.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace retro::posix {

/// Throws Error "PATH: ACTION: REASON" with the reason of errno value `error_number`.
[[noreturn]] void throw_error(const std::filesystem::path& path, std::string_view action,
                              int error_number);

/// Owns a file descriptor; closes it without reporting errors (call `close` where they matter).
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int descriptor) : descriptor_(descriptor) {}
  ~FileDescriptor();
  FileDescriptor(FileDescriptor&& other) noexcept;
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;

  int get() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }
  /// Throws Error naming `path` if the system reports a late write error.
  void close(const std::filesystem::path& path);
  void reset() noexcept;

 private:
  int descriptor_ = -1;
};

/// Opens with O_CLOEXEC, retrying on signals. Throws Error naming the path.
FileDescriptor open_file(const std::filesystem::path& path, int flags, std::string_view action);
/// Size of a regular file; anything else (a directory, a pipe) is an Error.
size_t regular_file_size(const FileDescriptor& file, const std::filesystem::path& path);
/// Reads until `bytes` is full or the file ends; returns the count.
size_t read_some(const FileDescriptor& file, std::span<std::byte> bytes,
                 const std::filesystem::path& path);
/// Writes all of `bytes` at the current position. Throws Error naming the path.
void write_all(const FileDescriptor& file, std::span<const std::byte> bytes,
               const std::filesystem::path& path);
/// Writes all of `bytes` at `offset`. Throws Error naming the path.
void write_all_at(const FileDescriptor& file, std::span<const std::byte> bytes, size_t offset,
                  const std::filesystem::path& path);
/// Flushes file or directory contents to the device. Throws Error naming the path.
void sync(const FileDescriptor& file, const std::filesystem::path& path);

}  // namespace retro::posix
