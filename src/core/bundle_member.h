// Checks of one file of a bundle; internal to core.
#pragma once

#include <filesystem>

#include "retro/core/bundle.h"

#include "posix.h"

namespace retro {

/// The list of the files, before all others.
inline constexpr const char* kBundleIndex = "bundle.json";
inline constexpr const char* kBundleFormat = "retro bundle";
inline constexpr int64_t kBundleVersion = 1;
/// Two blocks of zeros end a tar archive.
inline constexpr uint64_t kTarEndBytes = 1024;

/// The tar header says again what the list says. Throws Error naming `path` where it does not.
void check_member_header(const posix::FileDescriptor& archive, const BundleMember& member,
                         const std::filesystem::path& path);
/// Reads the content. Throws Error naming `path` where it does not match its hash.
void check_member_content(const posix::FileDescriptor& archive, const BundleMember& member,
                          const std::filesystem::path& path);

}  // namespace retro
