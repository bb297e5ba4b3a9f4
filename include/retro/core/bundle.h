// Many files in one: a tar archive whose files are read where they lie, by paths that lead into it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace retro {

/// A file of a bundle.
struct BundleMember {
  std::string name;  ///< relative, with slashes
  uint64_t size_bytes = 0;
  std::string hash;     ///< XXH3-128 of the content
  uint64_t offset = 0;  ///< of the content; a multiple of 512
};

/// Read side. The archive's first file, bundle.json, lists the others with their sizes and hashes.
/// The read functions of core (`read_file`, `hash_file`, `MappedFile`, `path_exists`) take
/// "x.retro/database/manifest.json" as the path of that file in the bundle x.retro. Reading a file
/// compares its content with its hash; of array files, which may be too large to read whole, only
/// the header is compared until `verify`.
class Bundle {
 public:
  /// Throws Error naming the file for one that is damaged, truncated or no bundle.
  explicit Bundle(std::filesystem::path path);

  const std::vector<BundleMember>& members() const { return members_; }
  /// Null if there is none of that name.
  const BundleMember* find(const std::string& name) const;
  /// True if `name` is a file, or a folder of files ("" is the bundle itself).
  bool contains(const std::string& name) const;
  /// Reads every byte. Throws Error naming the damaged file.
  void verify() const;

 private:
  std::filesystem::path path_;
  std::vector<BundleMember> members_;
};

/// True for a file that says it is a bundle, damaged ones included.
bool is_bundle(const std::filesystem::path& path);

/// The bundle that `path` leads into, or is, and the name within: {"x.retro", "database/a.bin"},
/// {"x.retro", ""}. Nothing for a path of the file system.
std::optional<std::pair<std::filesystem::path, std::string>> split_bundle_path(
    const std::filesystem::path& path);

/// A file or folder, in the file system or in a bundle.
bool path_exists(const std::filesystem::path& path);

/// The first `count` bytes of a file, or all it has. Throws Error naming the path.
std::string read_beginning(const std::filesystem::path& path, size_t count);

/// Throws Error if `path` leads into a bundle, which nothing can change: how to unpack it.
void refuse_bundle(const std::filesystem::path& path);

/// What goes into a bundle: a file, or `text` where `file` is empty.
struct BundleSource {
  std::string name;
  std::filesystem::path file = {};
  std::string text = {};
};

/// Writes the bundle atomically, in the order given: equal content gives equal bytes. Throws Error
/// for a file that changes meanwhile, and for a target that is there and is no bundle. Shows
/// progress.
void write_bundle(const std::filesystem::path& path, const std::vector<BundleSource>& sources);

}  // namespace retro
