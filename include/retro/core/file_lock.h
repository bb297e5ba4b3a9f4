// One writer at a time, across processes.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

namespace retro {

/// Holds an exclusive lock (flock) on `path` for as long as it lives. The system drops the lock of
/// a process that dies, so a crash leaves nothing to clean up. The file stays and holds the process
/// number of its last owner. Throws Error, without waiting, while another owner lives; `what` names
/// the thing that is locked.
class FileLock {
 public:
  FileLock(const std::filesystem::path& path, std::string_view what);
  ~FileLock();
  FileLock(FileLock&&) noexcept;
  FileLock& operator=(FileLock&&) noexcept;

  /// Programs that are started from here on hold the lock too: it is free once all have ended.
  void share_with_children() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace retro
