// A file system of a few pages, for tests of full disks and read-only media.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/test_support.h"

namespace retro::testing {

/// A tmpfs that only this process sees. Make it in a child (run_in_child): what it mounts on stays
/// so until the process ends.
class SmallDisk {
 public:
  static constexpr size_t kPageBytes = 4096;

  SmallDisk(std::filesystem::path where, size_t num_bytes) : path_(std::move(where)) {
    is_mounted_ = enter_namespace() && mount("size=" + std::to_string(num_bytes), 0);
  }

  bool is_mounted() const { return is_mounted_; }
  const std::filesystem::path& path() const { return path_; }
  bool make_read_only() const { return mount("", MS_REMOUNT | MS_RDONLY); }

  /// Leaves this many bytes for others; a second call changes the number.
  void leave_free(size_t num_bytes) const {
    const std::filesystem::path ballast = path_ / "ballast";
    std::filesystem::remove(ballast);
    struct statvfs status {};
    if (::statvfs(path_.c_str(), &status) != 0) throw std::runtime_error("no statvfs");
    const size_t free_bytes = status.f_bavail * status.f_frsize;
    const int file = ::open(ballast.c_str(), O_WRONLY | O_CREAT, 0666);
    if (free_bytes > num_bytes &&
        ::posix_fallocate(file, 0, static_cast<off_t>(free_bytes - num_bytes)) != 0) {
      throw std::runtime_error("cannot fill the disk");
    }
    ::close(file);
  }
  void free_all() const { std::filesystem::remove(path_ / "ballast"); }

 private:
  static void write_text(const char* path, const std::string& text) { std::ofstream(path) << text; }

  /// Root needs no user namespace; others become root of their own.
  static bool enter_namespace() {
    const std::string user = std::to_string(::getuid());
    const std::string group = std::to_string(::getgid());
    if (::unshare(CLONE_NEWNS) != 0) {
      if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
      write_text("/proc/self/setgroups", "deny");
      write_text("/proc/self/uid_map", "0 " + user + " 1");
      write_text("/proc/self/gid_map", "0 " + group + " 1");
    }
    return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
  }
  bool mount(const std::string& options, unsigned long flags) const {
    return ::mount("tmpfs", path_.c_str(), "tmpfs", flags, options.c_str()) == 0;
  }

  std::filesystem::path path_;
  bool is_mounted_ = false;
};

inline bool can_mount() {
  const ScratchDirectory scratch;
  return ended_well(run_in_child([&] {
    if (!SmallDisk(scratch.path(), 1 << 20).is_mounted()) throw std::runtime_error("no mount");
  }));
}

}  // namespace retro::testing
