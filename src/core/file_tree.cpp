#include "retro/core/file_tree.h"

#include <cerrno>
#include <system_error>

#include <stdio.h>

#include "retro/core/bundle.h"
#include "retro/core/error.h"

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

void require_plain_name(std::string_view name, std::string_view where) {
  const bool is_plain = !name.empty() && name != "." && name != ".." &&
                        name.find('/') == name.npos && name.find('\0') == name.npos;
  RETRO_CHECK(is_plain, "{}: `{}` is no name of a file beside it", where, name);
}

uint64_t tree_size_bytes(const fs::path& directory) {
  uint64_t size_bytes = 0;
  if (const auto inside = split_bundle_path(directory)) {
    const Bundle bundle(inside->first);
    for (const BundleMember& member : bundle.members()) {
      if (member.name.starts_with(inside->second + "/")) size_bytes += member.size_bytes;
    }
    return size_bytes;
  }
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) size_bytes += entry.file_size();
  }
  return size_bytes;
}

TemporaryDirectory::TemporaryDirectory(const fs::path& target)
    : temporary_(std::make_unique<TemporaryPath>(target, TemporaryPath::Kind::kDirectory)) {}
TemporaryDirectory::~TemporaryDirectory() = default;

const fs::path& TemporaryDirectory::path() const { return temporary_->path(); }

void remove_tree(const fs::path& path) {
  if (!fs::exists(fs::symlink_status(path))) return;
  call_file_hook("remove", path);
  std::error_code failure;
  fs::remove_all(path, failure);
  if (failure) posix::throw_error(path, "cannot remove", failure.value());
  sync_directory(parent_directory(path));
}

}  // namespace retro
