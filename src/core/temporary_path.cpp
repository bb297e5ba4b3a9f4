#include "temporary_path.h"

#include <atomic>
#include <cerrno>
#include <charconv>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "retro/core/error.h"
#include "retro/core/file_system.h"

namespace retro {
namespace {

namespace fs = std::filesystem;

FileHook file_hook;
std::atomic<uint64_t> next_number{0};
// Held from a temporary's creation to its lock, and while looking for leftovers: a name of this
// very process without a lock is then a leftover of an earlier process of the same number.
std::mutex temporary_mutex;

std::string temporary_prefix(const fs::path& target) {
  return target.filename().string() + ".tmp-";
}

/// The process number in "NAME.tmp-PID-N"; nothing for other names.
std::optional<pid_t> owner_of(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  pid_t owner = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), owner);
  if (error != std::errc{} || owner <= 0 || !std::string_view(end).starts_with('-'))
    return std::nullopt;
  return owner;
}

bool is_alive(pid_t process) { return ::kill(process, 0) == 0 || errno != ESRCH; }

/// Process numbers repeat (in containers, and between machines that share a disk); a held lock
/// tells the truth.
bool is_locked(const fs::path& path) {
  const posix::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  return !file.is_open() || (::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK);
}

/// Call with `temporary_mutex` held. Returns whether there were any.
bool remove_unlocked_temporaries(const fs::path& target) {
  const std::string prefix = temporary_prefix(target);
  std::error_code ignored;
  std::vector<fs::path> leftovers;
  for (const auto& entry : fs::directory_iterator(parent_directory(target), ignored)) {
    const auto owner = owner_of(entry.path().filename().string(), prefix);
    if (!owner || (*owner != ::getpid() && is_alive(*owner)) || is_locked(entry.path())) continue;
    leftovers.push_back(entry.path());
  }
  for (const fs::path& leftover : leftovers) fs::remove_all(leftover, ignored);
  return !leftovers.empty();
}

/// True if `path` was made; false if the name is taken.
bool create(const fs::path& path, TemporaryPath::Kind kind, posix::FileDescriptor& descriptor) {
  int status = -1;
  if (kind == TemporaryPath::Kind::kFile) {
    descriptor =
        posix::FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    status = descriptor.get();
  } else {
    status = ::mkdir(path.c_str(), 0777);
    if (status == 0) descriptor = posix::open_file(path, O_RDONLY | O_DIRECTORY, "cannot open");
  }
  if (status < 0 && errno != EEXIST) posix::throw_error(path, "cannot create", errno);
  return status >= 0;
}

}  // namespace

void set_file_hook(FileHook hook) { file_hook = std::move(hook); }

void call_file_hook(std::string_view operation, const fs::path& path) {
  if (file_hook) file_hook(operation, path);
}

fs::path parent_directory(const fs::path& path) {
  const fs::path parent = path.parent_path();
  return parent.empty() ? fs::path(".") : parent;
}

fs::path without_trailing_slash(const fs::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

void sync_directory(const fs::path& directory) {
  call_file_hook("sync", directory);
  posix::sync(posix::open_file(directory, O_RDONLY | O_DIRECTORY, "cannot sync"), directory);
}

bool remove_temporaries(const fs::path& target) {
  const std::lock_guard lock(temporary_mutex);
  return remove_unlocked_temporaries(target);
}

TemporaryPath::TemporaryPath(const fs::path& target, Kind kind) {
  RETRO_CHECK(target.has_filename(), "`{}` names no file to write", target.string());
  const std::lock_guard lock(temporary_mutex);
  remove_unlocked_temporaries(target);
  fs::path candidate;
  do {
    candidate = parent_directory(target) /
                fmt::format("{}{}-{}", temporary_prefix(target), ::getpid(), next_number++);
  } while (!create(candidate, kind, descriptor_));
  path_ = candidate;
  // Where locks are unknown, leftovers are told by their process number alone.
  ::flock(descriptor_.get(), LOCK_EX | LOCK_NB);
}

TemporaryPath::~TemporaryPath() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace retro
