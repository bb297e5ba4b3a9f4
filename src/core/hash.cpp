#include "retro/core/hash.h"

#include <algorithm>
#include <bit>
#include <new>
#include <vector>

#include <fmt/format.h>
#include <xxhash.h>

#include "retro/core/error.h"

#include "input_file.h"

namespace retro {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are hashed as stored");

constexpr uint64_t kBlockBytes = uint64_t{1} << 20;

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
  const InputFile input = open_input(path);
  std::vector<std::byte> block(static_cast<size_t>(std::min(kBlockBytes, input.size_bytes)));
  Hasher hasher;
  for (uint64_t done = 0; done < input.size_bytes;) {
    const auto part = std::span(block).first(
        static_cast<size_t>(std::min<uint64_t>(block.size(), input.size_bytes - done)));
    read_exactly(input.file, input.offset + done, part, path);
    hasher.add_bytes(part);
    done += part.size();
  }
  return hasher.hex();
}

}  // namespace retro
