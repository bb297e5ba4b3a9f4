// Own binary files: a fixed header (magic, version, dtype, counts, source hash), then one
// little-endian array. Layout byte by byte in docs/formats.md.
#pragma once

#include <cassert>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/mapped_file.h"

namespace retro {

enum class ArrayType : uint32_t {
  kUint8 = 1,
  kUint16 = 2,
  kUint32 = 3,
  kInt64 = 4,
  kFloat32 = 5,
  kFloat16 = 6,
  kBfloat16 = 7,
  kInt32 = 8,
  kUint64 = 9,
  kFloat64 = 10,
};

template <class T>
constexpr ArrayType array_type_of();
template <>
constexpr ArrayType array_type_of<uint8_t>() {
  return ArrayType::kUint8;
}
template <>
constexpr ArrayType array_type_of<uint16_t>() {
  return ArrayType::kUint16;
}
template <>
constexpr ArrayType array_type_of<uint32_t>() {
  return ArrayType::kUint32;
}
template <>
constexpr ArrayType array_type_of<uint64_t>() {
  return ArrayType::kUint64;
}
template <>
constexpr ArrayType array_type_of<int32_t>() {
  return ArrayType::kInt32;
}
template <>
constexpr ArrayType array_type_of<int64_t>() {
  return ArrayType::kInt64;
}
template <>
constexpr ArrayType array_type_of<float>() {
  return ArrayType::kFloat32;
}
template <>
constexpr ArrayType array_type_of<double>() {
  return ArrayType::kFloat64;
}

/// True if values of `type` are handled as T; float16 and bfloat16 are handled as uint16_t bits
/// (see half.h).
template <class T>
constexpr bool is_stored_as(ArrayType type) {
  const bool is_half = type == ArrayType::kFloat16 || type == ArrayType::kBfloat16;
  return array_type_of<T>() == type || (is_half && array_type_of<T>() == ArrayType::kUint16);
}

/// Bytes of one value. Throws Error for a number that is no type.
uint64_t array_type_size(ArrayType type);
/// "float32".
std::string_view array_type_name(ArrayType type);

/// What an array file says of itself. `kind` names its content ("tokens"), at most 15 bytes; `rows`
/// x `columns` values; `source_hash` (32 hexadecimal digits, or empty) names what it was made from.
struct ArrayHeader {
  std::string kind = {};
  uint32_t version = 1;
  ArrayType type = ArrayType::kUint32;
  uint64_t rows = 0;
  uint64_t columns = 1;
  std::string source_hash = {};
};

/// Streams rows to a file that appears, complete, at `commit`. `header.rows` is counted, not given.
class ArrayFileWriter {
 public:
  ArrayFileWriter(const std::filesystem::path& path, ArrayHeader header);
  ~ArrayFileWriter();
  ArrayFileWriter(ArrayFileWriter&&) noexcept;
  ArrayFileWriter& operator=(ArrayFileWriter&&) noexcept;
  template <class T>
  void append(std::span<const T> values) {
    RETRO_CHECK(is_stored_as<T>(header_.type), "array `{}` holds {}", header_.kind,
                array_type_name(header_.type));
    append_bytes(std::as_bytes(values));
  }
  void append_bytes(std::span<const std::byte> bytes);
  /// Whole rows appended so far.
  uint64_t rows() const;
  /// For a hash that is known only at the end.
  void set_source_hash(std::string source_hash);
  /// Throws Error if the last row is not whole.
  void commit();

 private:
  struct PayloadHash;
  ArrayHeader header_;
  AtomicFile file_;
  std::unique_ptr<PayloadHash> hash_;
  uint64_t row_bytes_ = 0;
  uint64_t payload_bytes_ = 0;
};

/// Memory-mapped view. The constructor checks magic, kind, version, type, size and (if given) the
/// source hash; anything else is refused with one line that names the file and says what to
/// rebuild.
class ArrayFile {
 public:
  struct Expected {
    std::string_view kind;
    ArrayType type;
    uint32_t version = 1;
    std::string_view source_hash = {};  ///< empty: not checked
    std::string_view rebuild = {};      ///< "run `retro database build` again"
    uint64_t columns = 0;               ///< 0: not checked
  };
  ArrayFile() = default;
  ArrayFile(const std::filesystem::path& path, const Expected& expected);

  const ArrayHeader& header() const { return header_; }
  uint64_t rows() const { return header_.rows; }
  uint64_t columns() const { return header_.columns; }
  /// All values, row-major, rows * columns of them.
  template <class T>
  std::span<const T> values() const {
    RETRO_CHECK(is_stored_as<T>(header_.type), "{} holds {}", file_.path().string(),
                array_type_name(header_.type));
    return {reinterpret_cast<const T*>(payload_.data()), header_.rows * header_.columns};
  }
  /// Row `index` < rows().
  template <class T>
  std::span<const T> row(uint64_t index) const {
    assert(index < header_.rows);
    return values<T>().subspan(index * header_.columns, header_.columns);
  }
  std::span<const std::byte> payload() const { return payload_; }
  const std::filesystem::path& path() const { return file_.path(); }
  void advise(MappedFile::Access access) const { file_.advise(access); }
  /// Reads every value and compares with the hash written beside them. Throws Error naming the
  /// file.
  void verify() const;

 private:
  ArrayHeader header_;
  MappedFile file_;
  uint64_t payload_hash_ = 0;
  std::span<const std::byte> payload_;
};

}  // namespace retro
