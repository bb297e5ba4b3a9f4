// A directory built piece by piece, that survives a kill and appears complete or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace retro {

/// Work goes on in `TARGET.partial`, each file of which is written atomically (so a file that
/// exists is whole), and is put in place of TARGET by `publish`; until then an older TARGET stays
/// usable. `identity` hashes everything the content depends on: partial work of another identity is
/// thrown away.
class ResumableDirectory {
 public:
  /// `check_target` throws Error if TARGET is damaged, in whatever byte; then it is built anew.
  ResumableDirectory(std::filesystem::path target, std::string identity,
                     const std::function<void()>& check_target);

  /// TARGET is there already, whole and of this identity.
  bool is_complete() const { return is_complete_; }
  /// Where to work.
  const std::filesystem::path& path() const { return partial_; }
  /// Bytes an earlier, killed call left to build upon.
  uint64_t size_bytes() const;
  void publish();

 private:
  std::filesystem::path target_;
  std::filesystem::path partial_;
  std::string identity_;
  bool is_complete_ = false;
};

/// Throws Error naming `made_from.txt` where it is in `directory` and damaged.
void verify_identity_file(const std::filesystem::path& directory);

}  // namespace retro
