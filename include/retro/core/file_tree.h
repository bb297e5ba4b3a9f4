// Whole files and directories moved and removed through the file layer: its hook is called first.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

namespace retro {

class TemporaryPath;

/// Renames `from` to `to` in one step and makes both names durable; a file at `to` is replaced.
/// Throws Error naming the path.
void rename_path(const std::filesystem::path& from, const std::filesystem::path& to);

/// Removes `path` and everything below it, and makes that durable. Does nothing where it is not.
void remove_tree(const std::filesystem::path& path);

/// Removes what dead processes left of `path` beside it: half-written files and folders and, where
/// one died before it had removed it, the whole old state. Writing `path` does so by itself.
void remove_leftovers_of(const std::filesystem::path& path);

/// A folder `NAME.tmp-PID-N` beside `target` for as long as this object lives; what a killed
/// process leaves is removed when `target` is next written.
class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(const std::filesystem::path& target);
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const;

 private:
  std::unique_ptr<TemporaryPath> temporary_;
};

/// Throws Error naming `where` unless `name` is that of a file or folder right inside another: what
/// a damaged or hostile list names must not lead elsewhere.
void require_plain_name(std::string_view name, std::string_view where);

/// Bytes of all files of a folder, which may be one of a bundle.
uint64_t tree_size_bytes(const std::filesystem::path& directory);

}  // namespace retro
