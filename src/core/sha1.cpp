// SHA-1 (FIPS 180-4, section 6.1). Only for the split of documents: it is no protection against
// anything.
#include <array>
#include <bit>
#include <string>

#include "retro/core/hash.h"

namespace retro {
namespace {

using Digest = std::array<uint32_t, 5>;
constexpr size_t kBlockBytes = 64;

struct Round {
  uint32_t mix;
  uint32_t constant;
};

Round round_of(size_t step, uint32_t b, uint32_t c, uint32_t d) {
  if (step < 20) return {(b & c) | (~b & d), 0x5a827999};
  if (step < 40) return {b ^ c ^ d, 0x6ed9eba1};
  if (step < 60) return {(b & c) | (b & d) | (c & d), 0x8f1bbcdc};
  return {b ^ c ^ d, 0xca62c1d6};
}

uint32_t big_endian_word(std::string_view bytes) {
  uint32_t word = 0;
  for (size_t i = 0; i < 4; ++i) word = word << 8 | static_cast<uint8_t>(bytes[i]);
  return word;
}

std::array<uint32_t, 80> expand(std::string_view block) {
  std::array<uint32_t, 80> words{};
  for (size_t i = 0; i < 16; ++i) words[i] = big_endian_word(block.substr(4 * i, 4));
  for (size_t i = 16; i < 80; ++i) {
    words[i] = std::rotl(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
  }
  return words;
}

void add_block(Digest& digest, std::string_view block) {
  const auto words = expand(block);
  auto [a, b, c, d, e] = digest;
  for (size_t step = 0; step < 80; ++step) {
    const Round round = round_of(step, b, c, d);
    const uint32_t next = std::rotl(a, 5) + round.mix + e + round.constant + words[step];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  const Digest added{a, b, c, d, e};
  for (size_t i = 0; i < digest.size(); ++i) digest[i] += added[i];
}

/// What is left after the whole blocks, a one bit, zeros, and the length in bits as 64-bit
/// big-endian.
std::string padded_tail(std::string_view tail, uint64_t total_bytes) {
  std::string padded(tail);
  padded.push_back(static_cast<char>(0x80));
  while (padded.size() % kBlockBytes != kBlockBytes - 8) padded.push_back('\0');
  for (int shift = 56; shift >= 0; shift -= 8) {
    padded.push_back(static_cast<char>((total_bytes * 8) >> shift & 0xff));
  }
  return padded;
}

void add_blocks(Digest& digest, std::string_view blocks) {
  for (; blocks.size() >= kBlockBytes; blocks.remove_prefix(kBlockBytes)) {
    add_block(digest, blocks.substr(0, kBlockBytes));
  }
}

}  // namespace

uint64_t sha1_prefix(std::string_view text) {
  Digest digest{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  add_blocks(digest, text);
  add_blocks(digest,
             padded_tail(text.substr(text.size() / kBlockBytes * kBlockBytes), text.size()));
  return uint64_t{digest[0]} << 32 | digest[1];
}

}  // namespace retro
