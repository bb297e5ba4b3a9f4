#include "bundle_member.h"

#include <algorithm>
#include <vector>

#include "retro/core/error.h"
#include "retro/core/hash.h"

#include "input_file.h"
#include "tar_header.h"

namespace retro {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kReadBytes = uint64_t{1} << 20;

}  // namespace

void check_member_header(const posix::FileDescriptor& archive, const BundleMember& member,
                         const fs::path& path) {
  TarHeader header{};
  read_exactly(archive, member.offset - kTarBlockBytes, header, path);
  RETRO_CHECK(header == tar_header(member.name, member.size_bytes), "{}: its tar header is damaged",
              path.string());
}

void check_member_content(const posix::FileDescriptor& archive, const BundleMember& member,
                          const fs::path& path) {
  std::vector<std::byte> buffer(static_cast<size_t>(std::min(kReadBytes, member.size_bytes)));
  Hasher hasher;
  for (uint64_t done = 0; done < member.size_bytes;) {
    const auto count =
        static_cast<size_t>(std::min<uint64_t>(buffer.size(), member.size_bytes - done));
    const auto part = std::span(buffer).first(count);
    read_exactly(archive, member.offset + done, part, path);
    hasher.add_bytes(part);
    done += count;
  }
  RETRO_CHECK(hasher.hex() == member.hash,
              "{}: the content does not match its hash: the bundle is damaged", path.string());
}

}  // namespace retro
