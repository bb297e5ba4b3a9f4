// Content hashes: they name what a file was made from and decide whether a stage is up to date.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace retro {

/// 128-bit XXH3 over everything added; not cryptographic.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  Hasher& add_bytes(std::span<const std::byte> bytes);
  /// Adds the length too, so that ("ab","c") and ("a","bc") differ.
  Hasher& add(std::string_view text);
  Hasher& add(int64_t value);
  /// 32 lower-case hexadecimal digits.
  std::string hex() const;

 private:
  void* state_;
};

std::string hash_text(std::string_view text);
/// Reads the file in blocks. Throws Error if it cannot be read.
std::string hash_file(const std::filesystem::path& path);
/// SHA-1 of `text`, first 8 bytes as a big-endian integer: the split of documents (DATA.md section
/// 4).
uint64_t sha1_prefix(std::string_view text);

}  // namespace retro
