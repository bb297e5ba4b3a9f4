// The 13-token-grams of a document, hashed one by one.
#pragma once

#include <cstdint>
#include <span>

#include <xxhash.h>

#include "retro/text/minhash.h"

namespace retro {

/// A shorter document is one shingle, its whole, hashed with a seed of its own.
inline size_t num_shingles(size_t num_tokens) {
  if (num_tokens == 0) return 0;
  return num_tokens < kShingleTokens ? 1 : num_tokens - kShingleTokens + 1;
}

inline uint64_t shingle_hash(std::span<const uint32_t> tokens, size_t i) {
  constexpr XXH64_hash_t kWholeDocumentSeed = 1;
  if (tokens.size() < kShingleTokens)
    return XXH3_64bits_withSeed(tokens.data(), tokens.size_bytes(), kWholeDocumentSeed);
  return XXH3_64bits_withSeed(tokens.data() + i, kShingleTokens * sizeof(uint32_t), 0);
}

}  // namespace retro
