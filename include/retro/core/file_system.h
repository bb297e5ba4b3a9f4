// The one layer through which files are written: temporary name, sync, rename.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace retro {

/// Called before each write, sync and rename with the operation's name and the path; tests kill or
/// fail here.
using FileHook = std::function<void(std::string_view operation, const std::filesystem::path& path)>;
void set_file_hook(FileHook hook);

/// Writes `path` under a temporary name beside it; `commit` syncs and renames. Without commit the
/// temporary file is removed and the old `path` stays as it was. Errors (disk full, no permission)
/// throw Error naming the path and the reason. The temporary is `NAME.tmp-PID-N`; those of dead
/// processes are removed when the same file is next written. Move-only; written through a 1 MiB
/// buffer.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(AtomicFile&&) noexcept;
  AtomicFile& operator=(AtomicFile&&) noexcept;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  template <class T>
  void write_array(std::span<const T> values) {
    write(std::as_bytes(values));
  }
  /// Overwrites bytes already written (a header whose counts are known at the end).
  void write_at(uint64_t offset, std::span<const std::byte> bytes);
  uint64_t size_bytes() const { return size_bytes_; }
  /// Afterwards nothing more can be written.
  void commit();

 private:
  struct State;
  void begin_operation();
  std::unique_ptr<State> state_;
  uint64_t size_bytes_ = 0;
};

/// Whole small file in, atomically.
void write_file(const std::filesystem::path& path, std::string_view text);
/// Whole file out; throws Error naming the path.
std::string read_file(const std::filesystem::path& path);
/// Appends to a log-like file (metrics.jsonl): one write call per line.
void append_line(const std::filesystem::path& path, std::string_view line);
/// Throws Error unless the file system of `directory` has `bytes` free; `what` names the need.
void require_free_disk(const std::filesystem::path& directory, uint64_t bytes,
                       std::string_view what);
/// Fills a fresh sibling directory through `fill`, syncs it, and renames it to `path` (replacing an
/// older one in one step where the file system can exchange names). When `fill` throws, `path`
/// stays as it was.
void write_directory(const std::filesystem::path& path,
                     const std::function<void(const std::filesystem::path& temporary)>& fill);
/// On file systems that cannot exchange names (NFS), a kill inside `write_directory` may leave the
/// old state as `PATH.retired`: puts it back if `path` is missing. `write_directory` itself calls
/// this first.
void recover_directory(const std::filesystem::path& path);

}  // namespace retro
