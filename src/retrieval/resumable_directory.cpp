#include "resumable_directory.h"

#include <algorithm>
#include <utility>

#include "retro/core/bundle.h"
#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/hash.h"
#include "retro/core/log.h"

namespace retro {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIdentityFile = "made_from.txt";

fs::path without_trailing_slash(const fs::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

/// The identity and a hash of it: a damaged one is not taken for another.
std::string identity_line(const std::string& identity) {
  return identity + " " + hash_text(identity) + "\n";
}

/// Older programs wrote no hash.
bool is_made_from(const fs::path& directory, const std::string& identity) {
  const fs::path file = directory / kIdentityFile;
  if (!fs::exists(file)) return false;
  const std::string text = read_file(file);
  return text == identity_line(identity) || text == identity + "\n";
}

/// Another process, which makes another part of the same, is about to write the identity.
bool is_being_begun(const fs::path& directory) {
  const auto is_identity = [](const fs::directory_entry& entry) {
    return entry.path().filename().string().starts_with(kIdentityFile);
  };
  return std::all_of(fs::directory_iterator(directory), fs::directory_iterator(), is_identity) &&
         !fs::exists(directory / kIdentityFile);
}

bool succeeds(const std::function<void()>& check, const fs::path& target) {
  try {
    check();
    return true;
  } catch (const Error& error) {
    log_warning("{} is built again: {}", target.string(), error.what());
    return false;
  }
}

/// Links where the file system can (nothing is written twice), copies elsewhere.
void link_tree(const fs::path& from, const fs::path& to) {
  for (const auto& entry : fs::directory_iterator(from)) {
    const fs::path destination = to / entry.path().filename();
    if (entry.is_directory()) {
      fs::create_directory(destination);
      link_tree(entry.path(), destination);
      continue;
    }
    std::error_code failure;
    fs::create_hard_link(entry.path(), destination, failure);
    if (failure) fs::copy_file(entry.path(), destination);
  }
}

constexpr size_t kHashDigits = 32;

}  // namespace

void verify_identity_file(const fs::path& directory) {
  const fs::path file = directory / kIdentityFile;
  if (!path_exists(file)) return;
  const std::string text = read_file(file);
  const std::string identity = text.substr(0, kHashDigits);
  const bool is_hash = identity.find_first_not_of("0123456789abcdef") == std::string::npos;
  RETRO_CHECK(text == identity_line(identity) || (is_hash && text == identity + "\n"),
              "{}: the content does not match its hash", file.string());
}

ResumableDirectory::ResumableDirectory(fs::path target, std::string identity,
                                       const std::function<void()>& check_target)
    : target_(without_trailing_slash(target)),
      partial_(target_.string() + ".partial"),
      identity_(std::move(identity)) {
  recover_directory(target_);
  is_complete_ = is_made_from(target_, identity_) && succeeds(check_target, target_);
  if (is_complete_) {
    fs::remove_all(partial_);
    return;
  }
  if (is_made_from(partial_, identity_)) return;
  // Asked again at the end: another process may have begun in between.
  if (fs::exists(partial_) && !is_being_begun(partial_) && !is_made_from(partial_, identity_)) {
    log_info("{}: what it is made from has changed; starting from the beginning",
             partial_.string());
    fs::remove_all(partial_);
  }
  fs::create_directories(partial_);
  write_file(partial_ / kIdentityFile, identity_line(identity_));
}

uint64_t ResumableDirectory::size_bytes() const {
  uint64_t size = 0;
  for (const auto& entry : fs::recursive_directory_iterator(partial_)) {
    if (entry.is_regular_file()) size += entry.file_size();
  }
  return size;
}

void ResumableDirectory::publish() {
  write_directory(target_, [&](const fs::path& temporary) { link_tree(partial_, temporary); });
  fs::remove_all(partial_);
  is_complete_ = true;
}

}  // namespace retro
