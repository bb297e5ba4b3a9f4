#include "retro/core/bundle.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>
#include <system_error>

#include <fcntl.h>

#include "retro/core/checked_json.h"
#include "retro/core/error.h"
#include "retro/core/json.h"

#include "bundle_member.h"
#include "input_file.h"
#include "tar_header.h"

namespace retro {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMakeAnew = "get it again, or run `retro bundle` again";
constexpr uint64_t kLargestIndex = uint64_t{1} << 30;
constexpr size_t kMagicOffset = 257;  // of "ustar"

/// Text of bundle.json, whose header must be as we write it.
std::string read_index(const posix::FileDescriptor& file, uint64_t size_bytes,
                       const fs::path& path) {
  const std::string where = path.string();
  RETRO_CHECK(size_bytes >= kTarBlockBytes, "{}: {} bytes are no bundle; {}", where, size_bytes,
              kMakeAnew);
  TarHeader header{};
  read_exactly(file, 0, header, path);
  const uint64_t index_bytes = tar_size_of(header);
  RETRO_CHECK(index_bytes <= kLargestIndex && header == tar_header(kBundleIndex, index_bytes),
              "{}: does not begin like a bundle; {}", where, kMakeAnew);
  RETRO_CHECK(index_bytes <= size_bytes - kTarBlockBytes, "{}: truncated; {}", where, kMakeAnew);
  std::string text(static_cast<size_t>(index_bytes), '\0');
  read_exactly(file, kTarBlockBytes, std::as_writable_bytes(std::span(text)), path);
  return text;
}

/// `size_bytes` of the whole file: no content may end behind it.
std::vector<BundleMember> parse_index(std::string_view text, uint64_t size_bytes,
                                      const std::string& where) {
  const nlohmann::json index = parse_checked_json(text, where);
  const auto format = json_get<std::string>(index, "format", where);
  const auto version = json_get<int64_t>(index, "format_version", where);
  RETRO_CHECK(format == kBundleFormat && version == kBundleVersion,
              "{}: `{}` of version {}, expected `{}` of version {}; {}", where, format, version,
              kBundleFormat, kBundleVersion, kMakeAnew);
  std::vector<BundleMember> members;
  uint64_t end = kTarBlockBytes + tar_padded(text.size());
  for (const auto& entry : json_at(index, "members", where)) {
    BundleMember member{json_get<std::string>(entry, "name", where),
                        json_get<uint64_t>(entry, "bytes", where),
                        json_get<std::string>(entry, "hash", where), end + kTarBlockBytes};
    RETRO_CHECK(member.offset <= size_bytes && member.size_bytes <= size_bytes - member.offset,
                "{}: truncated: `{}` has {} bytes from {} on, the bundle {}; {}", where,
                member.name, member.size_bytes, member.offset, size_bytes, kMakeAnew);
    end = member.offset + tar_padded(member.size_bytes);
    members.push_back(std::move(member));
  }
  return members;
}

uint64_t end_of(const std::vector<BundleMember>& members, uint64_t index_bytes) {
  const uint64_t end = members.empty()
                           ? kTarBlockBytes + tar_padded(index_bytes)
                           : members.back().offset + tar_padded(members.back().size_bytes);
  return end + kTarEndBytes;
}

/// Where nothing is but filling.
void check_zeros(const posix::FileDescriptor& file, uint64_t begin, uint64_t end,
                 const fs::path& path) {
  std::vector<std::byte> bytes(static_cast<size_t>(end - begin));
  read_exactly(file, begin, bytes, path);
  RETRO_CHECK(std::ranges::count(bytes, std::byte{0}) == std::ssize(bytes),
              "{}: bytes {} to {} are damaged", path.string(), begin, end);
}

}  // namespace

Bundle::Bundle(fs::path path) : path_(std::move(path)) {
  const auto file = posix::open_file(path_, O_RDONLY, "cannot read");
  const uint64_t size_bytes = posix::regular_file_size(file, path_);
  const std::string text = read_index(file, size_bytes, path_);
  members_ = parse_index(text, size_bytes, (path_ / kBundleIndex).string());
  const uint64_t expected = end_of(members_, text.size());
  RETRO_CHECK(size_bytes == expected, "{}: {}: {} bytes, expected {}; {}", path_.string(),
              size_bytes < expected ? "truncated" : "too long", size_bytes, expected, kMakeAnew);
}

const BundleMember* Bundle::find(const std::string& name) const {
  const auto found = std::ranges::find(members_, name, &BundleMember::name);
  return found == members_.end() ? nullptr : &*found;
}

bool Bundle::contains(const std::string& name) const {
  return name.empty() || std::ranges::any_of(members_, [&](const BundleMember& member) {
           return member.name == name || member.name.starts_with(name + "/");
         });
}

void Bundle::verify() const {
  const auto file = posix::open_file(path_, O_RDONLY, "cannot read");
  const std::string text = read_index(file, posix::regular_file_size(file, path_), path_);
  uint64_t end = kTarBlockBytes + text.size();
  for (const BundleMember& member : members_) {
    check_zeros(file, end, member.offset - kTarBlockBytes, path_);
    check_member_header(file, member, path_ / member.name);
    check_member_content(file, member, path_ / member.name);
    end = member.offset + member.size_bytes;
  }
  check_zeros(file, end, end_of(members_, text.size()), path_);
}

/// One damaged byte leaves one of the two signs.
bool is_bundle(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return false;
  std::ifstream file(path, std::ios::binary);
  std::array<char, kTarBlockBytes> header{};
  file.read(header.data(), header.size());
  const std::string_view bytes(header.data(), header.size());
  return bytes.starts_with(kBundleIndex) || bytes.substr(kMagicOffset).starts_with("ustar");
}

std::optional<std::pair<fs::path, std::string>> split_bundle_path(const fs::path& path) {
  if (is_bundle(path)) return std::pair(path, std::string());
  std::error_code ignored;
  for (fs::path above = path.parent_path(); !above.empty(); above = above.parent_path()) {
    if (is_bundle(above)) {
      const fs::path inside = path.lexically_normal().lexically_relative(above.lexically_normal());
      return std::pair(above, (inside / "").parent_path().generic_string());
    }
    if (fs::exists(above, ignored) || above == above.parent_path()) break;
  }
  return std::nullopt;
}

bool path_exists(const fs::path& path) {
  std::error_code ignored;
  if (fs::exists(path, ignored)) return true;
  const auto inside = split_bundle_path(path);
  return inside && Bundle(inside->first).contains(inside->second);
}

std::string read_beginning(const fs::path& path, size_t count) {
  const InputFile input = open_input(path);
  std::string text(std::min<uint64_t>(count, input.size_bytes), '\0');
  read_exactly(input.file, input.offset, std::as_writable_bytes(std::span(text)), path);
  return text;
}

void refuse_bundle(const fs::path& path) {
  const auto inside = split_bundle_path(path);
  RETRO_CHECK(!inside,
              "{0}: a bundle does not change; unpack it into a run directory (mkdir DIR && tar -xf "
              "{0} -C DIR) and work there",
              inside->first.string());
}

}  // namespace retro
