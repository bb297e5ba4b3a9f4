// Whole files and directories moved and removed through the file layer: its hook is called first.
#pragma once

#include <filesystem>

namespace retro {

/// Renames `from` to `to` in one step and makes both names durable; a file at `to` is replaced.
/// Throws Error naming the path.
void rename_path(const std::filesystem::path& from, const std::filesystem::path& to);

/// Removes `path` and everything below it, and makes that durable. Does nothing where it is not.
void remove_tree(const std::filesystem::path& path);

}  // namespace retro
