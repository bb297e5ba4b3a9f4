// The header, 128 bytes, little-endian; the payload follows at once, so it is aligned to 64 bytes.
//   offset size
//        0    8  magic "RETROARR"
//        8    4  version of this layout, 1
//       12    4  header size in bytes, 128
//       16   16  kind, ASCII, padded with zeros
//       32    4  version of the content (each kind has its own)
//       36    4  value type, see ArrayType
//       40    8  rows
//       48    8  columns
//       56    8  payload size in bytes = rows * columns * size of a value
//       64   32  hash of what the file was made from, 32 hexadecimal digits, or zeros
//       96    8  XXH3-64 of the payload
//      104   16  zeros
//      120    8  XXH3-64 of bytes 0 to 119
#include "retro/core/array_file.h"

#include <bit>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include <fmt/format.h>
#include <xxhash.h>

namespace retro {
namespace {

static_assert(std::endian::native == std::endian::little, "array files are little-endian");

constexpr char kMagic[] = "RETROARR";
constexpr uint32_t kLayoutVersion = 1;
constexpr size_t kKindBytes = 16;
constexpr size_t kHashBytes = 32;

struct RawHeader {
  char magic[8];
  uint32_t layout_version;
  uint32_t header_bytes;
  char kind[kKindBytes];
  uint32_t version;
  uint32_t type;
  uint64_t rows;
  uint64_t columns;
  uint64_t payload_bytes;
  char source_hash[kHashBytes];
  uint64_t payload_hash;
  uint64_t zeros[2];
  uint64_t header_hash;
};
static_assert(sizeof(RawHeader) == 128 && offsetof(RawHeader, header_hash) == 120);

uint64_t header_hash_of(const RawHeader& raw) {
  return XXH3_64bits(&raw, offsetof(RawHeader, header_hash));
}

/// Product, or the largest value if it does not fit: no file is that long.
uint64_t saturated_product(uint64_t a, uint64_t b) {
  constexpr uint64_t kLargest = std::numeric_limits<uint64_t>::max();
  return b != 0 && a > kLargest / b ? kLargest : a * b;
}

std::string text_of(std::span<const char> padded) {
  return {padded.data(), ::strnlen(padded.data(), padded.size())};
}

void check_header(const ArrayHeader& header) {
  RETRO_CHECK(header.kind.size() < kKindBytes && !header.kind.empty(),
              "array kind `{}` must have 1 to {} bytes", header.kind, kKindBytes - 1);
  RETRO_CHECK(header.source_hash.empty() || header.source_hash.size() == kHashBytes,
              "array `{}`: source hash `{}` must have {} digits", header.kind, header.source_hash,
              kHashBytes);
  RETRO_CHECK(header.columns > 0, "array `{}` must have columns", header.kind);
}

RawHeader raw_header_of(const ArrayHeader& header, uint64_t payload_bytes, uint64_t payload_hash) {
  RawHeader raw{};
  std::memcpy(raw.magic, kMagic, sizeof raw.magic);
  raw.layout_version = kLayoutVersion;
  raw.header_bytes = sizeof(RawHeader);
  std::memcpy(raw.kind, header.kind.data(), header.kind.size());
  raw.version = header.version;
  raw.type = static_cast<uint32_t>(header.type);
  raw.rows = header.rows;
  raw.columns = header.columns;
  raw.payload_bytes = payload_bytes;
  std::memcpy(raw.source_hash, header.source_hash.data(), header.source_hash.size());
  raw.payload_hash = payload_hash;
  raw.header_hash = header_hash_of(raw);
  return raw;
}

/// Throws "PATH: what is wrong; what to do".
class Refusal {
 public:
  Refusal(const std::filesystem::path& path, std::string_view rebuild)
      : path_(path.string()), rebuild_(rebuild) {}

  template <class... Args>
  void unless(bool condition, fmt::format_string<Args...> format, Args&&... args) const {
    if (condition) return;
    throw Error(fmt::format("{}: {}{}{}", path_, fmt::format(format, std::forward<Args>(args)...),
                            rebuild_.empty() ? "" : "; ", rebuild_));
  }

 private:
  std::string path_;
  std::string_view rebuild_;
};

RawHeader read_raw_header(std::span<const std::byte> bytes, const Refusal& refuse) {
  RawHeader raw{};
  refuse.unless(bytes.size() >= sizeof raw, "truncated: {} bytes, the header alone has {}",
                bytes.size(), sizeof raw);
  std::memcpy(&raw, bytes.data(), sizeof raw);
  refuse.unless(std::memcmp(raw.magic, kMagic, sizeof raw.magic) == 0,
                "not an array file of retro");
  refuse.unless(raw.layout_version == kLayoutVersion && raw.header_bytes == sizeof raw,
                "array layout {}, this program reads {}", raw.layout_version, kLayoutVersion);
  refuse.unless(raw.header_hash == header_hash_of(raw), "damaged header");
  return raw;
}

ArrayHeader header_of(const RawHeader& raw) {
  return {text_of(raw.kind), raw.version, static_cast<ArrayType>(raw.type),
          raw.rows,          raw.columns, text_of(raw.source_hash)};
}

void check_expected(const ArrayHeader& header, const ArrayFile::Expected& expected,
                    const Refusal& refuse) {
  refuse.unless(header.kind == expected.kind, "holds `{}`, not `{}`", header.kind, expected.kind);
  refuse.unless(header.version == expected.version, "version {} of `{}`, this program reads {}",
                header.version, header.kind, expected.version);
  refuse.unless(header.type == expected.type, "values of type {}, expected {}",
                array_type_name(header.type), array_type_name(expected.type));
  refuse.unless(expected.columns == 0 || header.columns == expected.columns,
                "{} columns, expected {}", header.columns, expected.columns);
  refuse.unless(expected.source_hash.empty() || header.source_hash == expected.source_hash,
                "made from other data (source hash {}, expected {})", header.source_hash,
                expected.source_hash);
}

}  // namespace

std::string_view array_type_name(ArrayType type) {
  switch (type) {
    case ArrayType::kUint8:
      return "uint8";
    case ArrayType::kUint16:
      return "uint16";
    case ArrayType::kUint32:
      return "uint32";
    case ArrayType::kInt64:
      return "int64";
    case ArrayType::kFloat32:
      return "float32";
    case ArrayType::kFloat16:
      return "float16";
    case ArrayType::kBfloat16:
      return "bfloat16";
    case ArrayType::kInt32:
      return "int32";
    case ArrayType::kUint64:
      return "uint64";
    case ArrayType::kFloat64:
      return "float64";
  }
  return "unknown";
}

uint64_t array_type_size(ArrayType type) {
  switch (type) {
    case ArrayType::kUint8:
      return 1;
    case ArrayType::kUint16:
    case ArrayType::kFloat16:
    case ArrayType::kBfloat16:
      return 2;
    case ArrayType::kUint32:
    case ArrayType::kInt32:
    case ArrayType::kFloat32:
      return 4;
    case ArrayType::kInt64:
    case ArrayType::kUint64:
    case ArrayType::kFloat64:
      return 8;
  }
  throw Error(fmt::format("array value type {} is unknown", static_cast<uint32_t>(type)));
}

struct ArrayFileWriter::PayloadHash {
  XXH3_state_t* state = XXH3_createState();
  PayloadHash() {
    if (state == nullptr) throw std::bad_alloc();
    XXH3_64bits_reset(state);
  }
  ~PayloadHash() { XXH3_freeState(state); }
  PayloadHash(const PayloadHash&) = delete;
  PayloadHash& operator=(const PayloadHash&) = delete;
};

ArrayFileWriter::ArrayFileWriter(const std::filesystem::path& path, ArrayHeader header)
    : header_(std::move(header)), file_(path), hash_(std::make_unique<PayloadHash>()) {
  check_header(header_);
  row_bytes_ = saturated_product(header_.columns, array_type_size(header_.type));
  const RawHeader place_holder{};
  file_.write(std::as_bytes(std::span(&place_holder, 1)));
}

ArrayFileWriter::~ArrayFileWriter() = default;
ArrayFileWriter::ArrayFileWriter(ArrayFileWriter&&) noexcept = default;
ArrayFileWriter& ArrayFileWriter::operator=(ArrayFileWriter&&) noexcept = default;

void ArrayFileWriter::append_bytes(std::span<const std::byte> bytes) {
  file_.write(bytes);
  XXH3_64bits_update(hash_->state, bytes.data(), bytes.size());
  payload_bytes_ += bytes.size();
}

uint64_t ArrayFileWriter::rows() const { return payload_bytes_ / row_bytes_; }

void ArrayFileWriter::set_source_hash(std::string source_hash) {
  header_.source_hash = std::move(source_hash);
  check_header(header_);
}

void ArrayFileWriter::commit() {
  RETRO_CHECK(payload_bytes_ % row_bytes_ == 0,
              "array `{}`: {} bytes are no whole rows of {} bytes", header_.kind, payload_bytes_,
              row_bytes_);
  header_.rows = rows();
  const RawHeader raw = raw_header_of(header_, payload_bytes_, XXH3_64bits_digest(hash_->state));
  file_.write_at(0, std::as_bytes(std::span(&raw, 1)));
  file_.commit();
}

ArrayFile::ArrayFile(const std::filesystem::path& path, const Expected& expected) : file_(path) {
  const Refusal refuse(path, expected.rebuild);
  const RawHeader raw = read_raw_header(file_.bytes(), refuse);
  header_ = header_of(raw);
  check_expected(header_, expected, refuse);
  payload_ = file_.bytes().subspan(sizeof raw);
  payload_hash_ = raw.payload_hash;
  const uint64_t row_bytes = saturated_product(header_.columns, array_type_size(header_.type));
  refuse.unless(
      header_.columns > 0 && raw.payload_bytes == saturated_product(header_.rows, row_bytes),
      "{} rows of {} columns do not make {} bytes", header_.rows, header_.columns,
      raw.payload_bytes);
  refuse.unless(payload_.size() == raw.payload_bytes, "{}: {} bytes of values, expected {}",
                payload_.size() < raw.payload_bytes ? "truncated" : "too long", payload_.size(),
                raw.payload_bytes);
}

void ArrayFile::verify() const {
  RETRO_CHECK(payload_hash_ == XXH3_64bits(payload_.data(), payload_.size()),
              "{}: damaged: the values do not match their hash", file_.path().string());
}

}  // namespace retro
