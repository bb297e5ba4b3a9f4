// Whole files and directories moved and removed through the file layer: its hook is called first.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace retro {

/// Renames `from` to `to` in one step and makes both names durable; a file at `to` is replaced.
/// Throws Error naming the path.
void rename_path(const std::filesystem::path& from, const std::filesystem::path& to);

/// Removes `path` and everything below it, and makes that durable. Does nothing where it is not.
void remove_tree(const std::filesystem::path& path);

/// Throws Error naming `where` unless `name` is that of a file or folder right inside another: what
/// a damaged or hostile list names must not lead elsewhere.
void require_plain_name(std::string_view name, std::string_view where);

/// Bytes of all files of a folder, which may be one of a bundle.
uint64_t tree_size_bytes(const std::filesystem::path& directory);

}  // namespace retro
