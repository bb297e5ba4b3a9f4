// Bytes and lines out of a file, plain or gzip.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

struct gzFile_s;

namespace retro {

/// Streams a file; gzip is recognised by its first bytes. A byte order mark at the front is
/// dropped. Throws Error naming the path: cannot be read, a .gz that is no gzip file, cut or
/// damaged gzip data.
class TextFile {
 public:
  explicit TextFile(const std::filesystem::path& path);
  ~TextFile();
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  /// Replaces `line` by the next line without its "\n" or "\r\n". False at the end.
  bool next_line(std::string& line);
  /// Number of the line last read, from 1.
  int64_t line_number() const { return line_number_; }
  /// Everything not yet read, line ends as they are.
  std::string rest();

 private:
  void open_in_bundle();
  void open_file();
  bool fill();

  std::filesystem::path path_;
  gzFile_s* file_ = nullptr;  ///< null: all of it is in the buffer
  std::vector<char> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  int64_t line_number_ = 0;
};

}  // namespace retro
