// Names and life of temporary files and directories, `NAME.tmp-PID-N` beside NAME; internal to
// core.
#pragma once

#include <filesystem>
#include <string_view>

#include "posix.h"

namespace retro {

/// Calls the hook of `set_file_hook`, if there is one.
void call_file_hook(std::string_view operation, const std::filesystem::path& path);

/// The directory that holds `path`; "." for a bare name.
std::filesystem::path parent_directory(const std::filesystem::path& path);
/// "runs/x/" -> "runs/x": so that names can be put beside it.
std::filesystem::path without_trailing_slash(const std::filesystem::path& path);
/// Makes the names in `directory` durable (a rename is only safe after this).
void sync_directory(const std::filesystem::path& directory);

/// Removes temporaries of `target` whose owners are dead. Returns whether there were any.
bool remove_temporaries(const std::filesystem::path& target);

/// A fresh file or directory beside `target`, locked for as long as its owner lives, removed unless
/// `release`d. Creating one first removes what dead processes left for the same target.
class TemporaryPath {
 public:
  enum class Kind { kFile, kDirectory };

  TemporaryPath(const std::filesystem::path& target, Kind kind);
  ~TemporaryPath();
  TemporaryPath(const TemporaryPath&) = delete;
  TemporaryPath& operator=(const TemporaryPath&) = delete;

  const std::filesystem::path& path() const { return path_; }
  posix::FileDescriptor& descriptor() { return descriptor_; }
  /// The name now belongs to someone else (it was renamed): do not remove it.
  void release() { path_.clear(); }

 private:
  std::filesystem::path path_;
  posix::FileDescriptor descriptor_;
};

}  // namespace retro
