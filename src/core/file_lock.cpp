#include "retro/core/file_lock.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "retro/core/error.h"

#include "posix.h"

namespace retro {
namespace {

namespace fs = std::filesystem;

std::string owner_of(const posix::FileDescriptor& file, const fs::path& path) {
  std::array<char, 32> text{};
  const size_t length = posix::read_some(file, std::as_writable_bytes(std::span(text)), path);
  return {text.data(), length};
}

posix::FileDescriptor create(const fs::path& path) {
  posix::FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!file.is_open()) posix::throw_error(path, "cannot lock", errno);
  return file;
}

}  // namespace

struct FileLock::State {
  posix::FileDescriptor file;
};

FileLock::FileLock(const fs::path& path, std::string_view what)
    : state_(std::make_unique<State>(State{create(path)})) {
  const posix::FileDescriptor& file = state_->file;
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    RETRO_CHECK(errno == EWOULDBLOCK, "{}: locks do not work on this file system", path.string());
    throw Error(fmt::format(
        "{} is being changed by process {} or a stage it started; try again when both have ended",
        what, owner_of(file, path)));
  }
  const std::string owner = std::to_string(::getpid());
  if (::ftruncate(file.get(), 0) != 0) posix::throw_error(path, "cannot lock", errno);
  posix::write_all_at(file, std::as_bytes(std::span(owner)), 0, path);
}

void FileLock::share_with_children() const {
  if (::fcntl(state_->file.get(), F_SETFD, 0) != 0)
    throw Error(fmt::format("cannot share a lock: {}", std::strerror(errno)));
}

FileLock::~FileLock() = default;
FileLock::FileLock(FileLock&&) noexcept = default;
FileLock& FileLock::operator=(FileLock&&) noexcept = default;

}  // namespace retro
