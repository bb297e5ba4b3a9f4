#include "line_reader.h"

#include <cerrno>
#include <cstring>

#include <zlib.h>

#include "retro/core/bundle.h"
#include "retro/core/error.h"
#include "retro/core/file_system.h"

namespace retro {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

TextFile::TextFile(const std::filesystem::path& path) : path_(path), buffer_(kBufferBytes) {
  if (split_bundle_path(path)) {
    open_in_bundle();
  } else {
    open_file();
  }
  if (std::string_view(buffer_.data(), end_).starts_with(kByteOrderMark))
    begin_ = kByteOrderMark.size();
}

/// What is packed is small, and plain.
void TextFile::open_in_bundle() {
  const std::string text = read_file(path_);
  buffer_.assign(text.begin(), text.end());
  end_ = buffer_.size();
}

void TextFile::open_file() {
  const std::filesystem::path& path = path_;
  RETRO_CHECK(!std::filesystem::is_directory(path), "{}: is a folder, expected a file",
              path.string());
  file_ = gzopen(path.c_str(), "rb");
  RETRO_CHECK(file_ != nullptr, "{}: cannot be opened: {}", path.string(), std::strerror(errno));
  gzbuffer(file_, kBufferBytes);
  try {
    fill();
    const bool is_named_gzip = path.extension() == ".gz" || path.extension() == ".GZ";
    RETRO_CHECK(!is_named_gzip || gzdirect(file_) == 0, "{}: expected gzip data, found other bytes",
                path.string());
  } catch (...) {
    gzclose_r(file_);
    throw;
  }
}

TextFile::~TextFile() {
  if (file_ != nullptr) gzclose_r(file_);
}

bool TextFile::fill() {
  if (file_ == nullptr) return false;
  const int count = gzread(file_, buffer_.data(), static_cast<unsigned>(buffer_.size()));
  int code = Z_OK;
  const char* message = gzerror(file_, &code);
  // zlib reports data that ends inside a gzip member as Z_BUF_ERROR beside a successful read.
  RETRO_CHECK(count >= 0 && code != Z_BUF_ERROR, "{}: cannot be read: {}", path_.string(),
              code == Z_BUF_ERROR ? "the gzip data is cut off"
              : code == Z_ERRNO   ? std::strerror(errno)
                                  : message);
  begin_ = 0;
  end_ = static_cast<size_t>(count);
  return end_ > 0;
}

bool TextFile::next_line(std::string& line) {
  line.clear();
  bool has_line = false;
  while (begin_ < end_ || fill()) {
    has_line = true;
    const char* start = buffer_.data() + begin_;
    const void* newline = std::memchr(start, '\n', end_ - begin_);
    const size_t length = newline == nullptr
                              ? end_ - begin_
                              : static_cast<size_t>(static_cast<const char*>(newline) - start);
    line.append(start, length);
    begin_ += length;
    if (newline == nullptr) continue;
    ++begin_;
    break;
  }
  if (line.ends_with('\r')) line.pop_back();
  if (has_line) ++line_number_;
  return has_line;
}

std::string TextFile::rest() {
  std::string text;
  while (begin_ < end_ || fill()) {
    text.append(buffer_.data() + begin_, end_ - begin_);
    begin_ = end_;
  }
  return text;
}

}  // namespace retro
