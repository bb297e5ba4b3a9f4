#include <cerrno>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <stdio.h>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/file_tree.h"

#include "posix.h"
#include "temporary_path.h"

namespace retro {
namespace {

namespace fs = std::filesystem;

void sync_file(const fs::path& path) {
  call_file_hook("sync", path);
  posix::sync(posix::open_file(path, O_RDONLY, "cannot sync"), path);
}

/// Files first, then the directories that name them, the deepest first.
void sync_tree(const fs::path& directory) {
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.is_symlink()) continue;
    if (entry.is_directory()) sync_tree(entry.path());
    if (entry.is_regular_file()) sync_file(entry.path());
  }
  sync_directory(directory);
}

/// Swaps two names in one step, where the file system can; false where it cannot.
bool exchange(const fs::path& a, const fs::path& b) {
  if (::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) posix::throw_error(b, "cannot replace", errno);
  return false;
}

fs::path retired_name(const fs::path& path) { return path.string() + ".retired"; }

/// For file systems without exchange (NFS): a kill between the two renames leaves the old state as
/// PATH.retired, which the next `write_directory` or `recover_directory` puts back.
void replace_in_two_steps(const fs::path& temporary, const fs::path& path) {
  fs::remove_all(retired_name(path));
  fs::rename(path, retired_name(path));
  call_file_hook("rename", path);
  fs::rename(temporary, path);
}

void move_into_place(TemporaryPath& temporary, const fs::path& path) {
  call_file_hook("rename", path);
  // RENAME_NOREPLACE: an empty old directory is exchanged like any other.
  if (::renameat2(AT_FDCWD, temporary.path().c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) ==
      0) {
    temporary.release();
    return;
  }
  if (!fs::exists(fs::symlink_status(path))) {
    fs::rename(temporary.path(), path);
    temporary.release();
  } else if (!exchange(temporary.path(), path)) {
    replace_in_two_steps(temporary.path(), path);
    temporary.release();
  }
  // After an exchange the temporary name holds the old state; its owner removes it.
}

}  // namespace

void recover_directory(const fs::path& directory) {
  const fs::path path = without_trailing_slash(directory);
  if (fs::exists(retired_name(path)) && !fs::exists(path)) fs::rename(retired_name(path), path);
}

void remove_leftovers_of(const fs::path& path) {
  const fs::path target = without_trailing_slash(path);
  bool has_any = remove_temporaries(target);
  // Without its successor in place it is the only state there is.
  std::error_code ignored;
  if (fs::exists(target)) has_any = fs::remove_all(retired_name(target), ignored) > 0 || has_any;
  if (has_any) sync_directory(parent_directory(target));
}

void write_directory(const fs::path& directory,
                     const std::function<void(const fs::path& temporary)>& fill) {
  const fs::path path = without_trailing_slash(directory);
  try {
    recover_directory(path);
    TemporaryPath temporary(path, TemporaryPath::Kind::kDirectory);
    fill(temporary.path());
    sync_tree(temporary.path());
    move_into_place(temporary, path);
    sync_directory(parent_directory(path));
    fs::remove_all(retired_name(path));
  } catch (const fs::filesystem_error& error) {
    posix::throw_error(path, "cannot write", error.code().value());
  }
}

}  // namespace retro
