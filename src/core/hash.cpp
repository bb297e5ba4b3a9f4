#include "retro/core/hash.h"

#include <bit>
#include <new>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <xxhash.h>

#include "retro/core/error.h"

#include "posix.h"

namespace retro {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are hashed as stored");

constexpr size_t kBlockBytes = size_t{1} << 20;

XXH3_state_t* as_state(void* state) { return static_cast<XXH3_state_t*>(state); }

std::string hex_of(XXH128_hash_t hash) {
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace

Hasher::Hasher() : state_(XXH3_createState()) {
  if (state_ == nullptr) throw std::bad_alloc();
  XXH3_128bits_reset(as_state(state_));
}

Hasher::~Hasher() { XXH3_freeState(as_state(state_)); }

Hasher& Hasher::add_bytes(std::span<const std::byte> bytes) {
  XXH3_128bits_update(as_state(state_), bytes.data(), bytes.size());
  return *this;
}

Hasher& Hasher::add(std::string_view text) {
  add(static_cast<int64_t>(text.size()));
  return add_bytes(std::as_bytes(std::span(text)));
}

Hasher& Hasher::add(int64_t value) { return add_bytes(std::as_bytes(std::span(&value, 1))); }

std::string Hasher::hex() const { return hex_of(XXH3_128bits_digest(as_state(state_))); }

std::string hash_text(std::string_view text) {
  return hex_of(XXH3_128bits(text.data(), text.size()));
}

std::string hash_file(const std::filesystem::path& path) {
  const auto file = posix::open_file(path, O_RDONLY, "cannot read");
  std::vector<std::byte> block(kBlockBytes);
  Hasher hasher;
  size_t count = 0;
  while ((count = posix::read_some(file, block, path)) > 0) {
    hasher.add_bytes(std::span(block).first(count));
  }
  return hasher.hex();
}

}  // namespace retro
