#include "tar_header.h"

#include <cstring>

#include "retro/core/error.h"

namespace retro {
namespace {

/// struct posix_header of <tar.h>'s standard; what is not named stays zero.
struct RawHeader {
  char name[100];
  char mode[8];
  char uid[8];
  char gid[8];
  char size[12];
  char mtime[12];
  char checksum[8];
  char type;
  char link[100];
  char magic[6];
  char version[2];
  char rest[247];
};
static_assert(sizeof(RawHeader) == kTarBlockBytes);

constexpr uint64_t kLargestOctal = uint64_t{1} << 33;
constexpr unsigned char kBase256 = 0x80;

/// Zero-padded octal digits and a final NUL.
template <size_t N>
void write_octal(char (&field)[N], uint64_t value) {
  field[N - 1] = '\0';
  for (size_t i = N - 1; i-- > 0; value /= 8) field[i] = static_cast<char>('0' + value % 8);
}

void write_size(RawHeader& header, uint64_t size_bytes) {
  if (size_bytes < kLargestOctal) return write_octal(header.size, size_bytes);
  for (size_t i = sizeof header.size; i-- > 0; size_bytes >>= 8) {
    header.size[i] = static_cast<char>(size_bytes & 0xFF);
  }
  header.size[0] = static_cast<char>(kBase256);
}

/// The sum of all bytes, the checksum's own counted as spaces.
void write_checksum(RawHeader& header) {
  std::memset(header.checksum, ' ', sizeof header.checksum);
  uint64_t sum = 0;
  for (const std::byte byte : std::as_bytes(std::span(&header, 1)))
    sum += std::to_integer<uint64_t>(byte);
  char digits[7];
  write_octal(digits, sum);
  std::memcpy(header.checksum, digits, sizeof digits);
}

}  // namespace

TarHeader tar_header(std::string_view name, uint64_t size_bytes) {
  RawHeader header{};
  RETRO_CHECK(!name.empty() && name.size() < sizeof header.name,
              "`{}`: a name in an archive has 1 to {} bytes", name, sizeof header.name - 1);
  std::memcpy(header.name, name.data(), name.size());
  write_octal(header.mode, 0644);
  write_octal(header.uid, 0);
  write_octal(header.gid, 0);
  write_size(header, size_bytes);
  write_octal(header.mtime, 0);
  header.type = '0';
  std::memcpy(header.magic, "ustar", sizeof header.magic);
  std::memcpy(header.version, "00", sizeof header.version);
  write_checksum(header);
  TarHeader bytes;
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

uint64_t tar_size_of(std::span<const std::byte, kTarBlockBytes> bytes) {
  RawHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  const bool is_base_256 = (static_cast<unsigned char>(header.size[0]) & kBase256) != 0;
  uint64_t size = 0;
  for (size_t i = is_base_256 ? 1 : 0; i < sizeof header.size; ++i) {
    const auto digit = static_cast<unsigned char>(header.size[i]);
    if (is_base_256) {
      size = size << 8 | digit;
    } else if (digit >= '0' && digit <= '7') {
      size = size * 8 + (digit - '0');
    }
  }
  return size;
}

}  // namespace retro
