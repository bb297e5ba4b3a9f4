#include "posix.h"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "retro/core/error.h"

namespace retro::posix {
namespace {

// Linux transfers at most about 2 GiB a call; smaller pieces keep signals responsive.
constexpr size_t kMaxTransferBytes = size_t{1} << 28;

}  // namespace

void throw_error(const std::filesystem::path& path, std::string_view action, int error_number) {
  throw Error(fmt::format("{}: {}: {}", path.string(), action,
                          std::generic_category().message(error_number)));
}

FileDescriptor::~FileDescriptor() { reset(); }

FileDescriptor::FileDescriptor(FileDescriptor&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) {
    reset();
    descriptor_ = std::exchange(other.descriptor_, -1);
  }
  return *this;
}

void FileDescriptor::close(const std::filesystem::path& path) {
  const int descriptor = std::exchange(descriptor_, -1);
  // Linux frees the descriptor even when close reports EINTR.
  if (::close(descriptor) != 0 && errno != EINTR) throw_error(path, "cannot close", errno);
}

void FileDescriptor::reset() noexcept {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

FileDescriptor open_file(const std::filesystem::path& path, int flags, std::string_view action) {
  int descriptor = -1;
  do {
    descriptor = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
  } while (descriptor < 0 && errno == EINTR);
  if (descriptor < 0) throw_error(path, action, errno);
  return FileDescriptor(descriptor);
}

size_t regular_file_size(const FileDescriptor& file, const std::filesystem::path& path) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw_error(path, "cannot read", errno);
  RETRO_CHECK(S_ISREG(status.st_mode), "{}: cannot read: not a regular file", path.string());
  return static_cast<size_t>(status.st_size);
}

size_t read_some(const FileDescriptor& file, std::span<std::byte> bytes,
                 const std::filesystem::path& path) {
  size_t done = 0;
  while (done < bytes.size()) {
    const size_t wanted = std::min(bytes.size() - done, kMaxTransferBytes);
    const ssize_t count = ::read(file.get(), bytes.data() + done, wanted);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_error(path, "cannot read", errno);
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  return done;
}

void write_all(const FileDescriptor& file, std::span<const std::byte> bytes,
               const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t count =
        ::write(file.get(), bytes.data(), std::min(bytes.size(), kMaxTransferBytes));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_error(path, "cannot write", errno);
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
}

void write_all_at(const FileDescriptor& file, std::span<const std::byte> bytes, size_t offset,
                  const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t count =
        ::pwrite(file.get(), bytes.data(), std::min(bytes.size(), kMaxTransferBytes),
                 static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_error(path, "cannot write", errno);
    bytes = bytes.subspan(static_cast<size_t>(count));
    offset += static_cast<size_t>(count);
  }
}

void sync(const FileDescriptor& file, const std::filesystem::path& path) {
  int status = -1;
  do {
    status = ::fsync(file.get());
  } while (status != 0 && errno == EINTR);
  // Some file systems cannot sync a directory and say EINVAL; nothing is lost by going on.
  if (status != 0 && errno != EINVAL) throw_error(path, "cannot sync", errno);
}

}  // namespace retro::posix
