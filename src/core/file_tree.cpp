#include "retro/core/file_tree.h"

#include <cerrno>
#include <system_error>

#include <stdio.h>

#include "posix.h"
#include "temporary_path.h"

namespace retro {

namespace fs = std::filesystem;

void rename_path(const fs::path& from, const fs::path& to) {
  call_file_hook("rename", to);
  if (::rename(from.c_str(), to.c_str()) != 0) posix::throw_error(to, "cannot replace", errno);
  sync_directory(parent_directory(to));
  if (parent_directory(from) != parent_directory(to)) sync_directory(parent_directory(from));
}

void remove_tree(const fs::path& path) {
  if (!fs::exists(fs::symlink_status(path))) return;
  call_file_hook("remove", path);
  std::error_code failure;
  fs::remove_all(path, failure);
  if (failure) posix::throw_error(path, "cannot remove", failure.value());
  sync_directory(parent_directory(path));
}

}  // namespace retro
