#include "input_file.h"

#include <array>
#include <cerrno>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include "retro/core/error.h"

#include "bundle_member.h"

namespace retro {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kArrayMagic = "RETROARR";

/// Array files have a checksum of their own for their header, and may be too large to read whole.
bool is_array_file(const InputFile& input, const fs::path& path) {
  std::array<char, kArrayMagic.size()> magic{};
  if (input.size_bytes < magic.size()) return false;
  read_exactly(input.file, input.offset, std::as_writable_bytes(std::span(magic)), path);
  return std::string_view(magic.data(), magic.size()) == kArrayMagic;
}

InputFile open_member(const fs::path& archive, const std::string& name, const fs::path& path) {
  const Bundle bundle(archive);
  const BundleMember* member = bundle.find(name);
  RETRO_CHECK(member != nullptr, "{}: cannot read: the bundle has no such file", path.string());
  InputFile input{posix::open_file(archive, O_RDONLY, "cannot read"), member->offset,
                  member->size_bytes};
  check_member_header(input.file, *member, path);
  if (!is_array_file(input, path)) check_member_content(input.file, *member, path);
  return input;
}

}  // namespace

InputFile open_input(const fs::path& path) {
  posix::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open() && errno == ENOTDIR) {
    if (const auto inside = split_bundle_path(path)) {
      return open_member(inside->first, inside->second, path);
    }
  }
  if (!file.is_open()) file = posix::open_file(path, O_RDONLY, "cannot read");
  const uint64_t size_bytes = posix::regular_file_size(file, path);
  return {std::move(file), 0, size_bytes};
}

void read_exactly(const posix::FileDescriptor& file, uint64_t offset, std::span<std::byte> bytes,
                  const fs::path& path) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::pread(file.get(), bytes.data() + done, bytes.size() - done,
                                  static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) posix::throw_error(path, "cannot read", errno);
    RETRO_CHECK(count > 0, "{}: truncated: {} bytes are missing", path.string(),
                bytes.size() - done);
    done += static_cast<size_t>(count);
  }
}

}  // namespace retro
