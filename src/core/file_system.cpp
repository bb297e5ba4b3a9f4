#include "retro/core/file_system.h"

#include <cerrno>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "retro/core/error.h"
#include "retro/core/progress.h"

#include "input_file.h"
#include "posix.h"
#include "temporary_path.h"

namespace retro {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBufferBytes = size_t{1} << 20;

fs::path nearest_existing(fs::path directory) {
  std::error_code ignored;
  while (directory.has_filename() && !fs::exists(directory, ignored)) {
    directory = directory.parent_path();
  }
  return directory.empty() ? fs::path(".") : directory;
}

/// True if the file holds something and its last line has no end (its writer was killed).
bool ends_inside_a_line(const posix::FileDescriptor& file, const fs::path& path) {
  const size_t size_bytes = posix::regular_file_size(file, path);
  char last = '\n';
  return size_bytes > 0 && ::pread(file.get(), &last, 1, static_cast<off_t>(size_bytes - 1)) == 1 &&
         last != '\n';
}

}  // namespace

struct AtomicFile::State {
  State(fs::path target, fs::path name)
      : path(std::move(target)), temporary(name, TemporaryPath::Kind::kFile) {
    buffer.reserve(kBufferBytes);
  }

  void flush() {
    if (buffer.empty()) return;
    call_file_hook("write", path);
    posix::write_all(temporary.descriptor(), buffer, temporary.path());
    buffer.clear();
  }

  fs::path path;
  TemporaryPath temporary;
  std::vector<std::byte> buffer;
  bool has_failed = true;  // true while an operation runs: stays true if that throws
};

AtomicFile::AtomicFile(fs::path path) : state_(std::make_unique<State>(path, path)) {
  state_->has_failed = false;
}

AtomicFile::~AtomicFile() = default;
AtomicFile::AtomicFile(AtomicFile&&) noexcept = default;
AtomicFile& AtomicFile::operator=(AtomicFile&&) noexcept = default;

void AtomicFile::begin_operation() {
  RETRO_CHECK(state_ != nullptr, "a committed file is written to");
  RETRO_CHECK(!state_->has_failed, "{}: an earlier write failed", state_->path.string());
  state_->has_failed = true;
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  begin_operation();
  if (state_->buffer.size() + bytes.size() > kBufferBytes) state_->flush();
  if (bytes.size() > kBufferBytes) {
    call_file_hook("write", state_->path);
    posix::write_all(state_->temporary.descriptor(), bytes, state_->temporary.path());
  } else {
    state_->buffer.insert(state_->buffer.end(), bytes.begin(), bytes.end());
  }
  size_bytes_ += bytes.size();
  state_->has_failed = false;
}

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void AtomicFile::write_at(uint64_t offset, std::span<const std::byte> bytes) {
  begin_operation();
  RETRO_CHECK(offset <= size_bytes_ && bytes.size() <= size_bytes_ - offset,
              "{}: {} bytes at {} lie outside the {} bytes written", state_->path.string(),
              bytes.size(), offset, size_bytes_);
  state_->flush();
  call_file_hook("write", state_->path);
  posix::write_all_at(state_->temporary.descriptor(), bytes, offset, state_->temporary.path());
  state_->has_failed = false;
}

void AtomicFile::commit() {
  begin_operation();
  state_->flush();
  const fs::path target = state_->path;
  call_file_hook("sync", target);
  posix::sync(state_->temporary.descriptor(), state_->temporary.path());
  call_file_hook("rename", target);
  if (::rename(state_->temporary.path().c_str(), target.c_str()) != 0) {
    posix::throw_error(target, "cannot replace", errno);
  }
  state_->temporary.release();
  // Closed only now: an open descriptor holds the lock that keeps others from removing the
  // temporary.
  state_->temporary.descriptor().close(target);
  state_.reset();
  sync_directory(parent_directory(target));
}

void write_file(const fs::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

std::string read_file(const fs::path& path) {
  const InputFile input = open_input(path);
  std::string text(input.size_bytes, '\0');
  read_exactly(input.file, input.offset, std::as_writable_bytes(std::span(text)), path);
  return text;
}

void append_line(const fs::path& path, std::string_view line) {
  const auto file = posix::open_file(path, O_RDWR | O_APPEND | O_CREAT, "cannot append");
  std::string text(ends_inside_a_line(file, path) ? "\n" : "");
  text.append(line).append("\n");
  call_file_hook("write", path);
  posix::write_all(file, std::as_bytes(std::span(text)), path);
}

void require_free_disk(const fs::path& directory, uint64_t bytes, std::string_view what) {
  const fs::path existing = nearest_existing(directory);
  struct statvfs status {};
  if (::statvfs(existing.c_str(), &status) != 0) {
    posix::throw_error(existing, "cannot measure free space", errno);
  }
  const uint64_t free_bytes = uint64_t{status.f_bavail} * status.f_frsize;
  RETRO_CHECK(bytes <= free_bytes,
              "{}: {} needs {}, {} are free; free some space or choose another directory",
              directory.string(), what, format_bytes(bytes), format_bytes(free_bytes));
}

}  // namespace retro
