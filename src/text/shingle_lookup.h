// One document's shingles, to compare others with.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace retro {

class ShingleLookup {
 public:
  explicit ShingleLookup(std::span<const uint32_t> tokens);

  /// Exact Jaccard similarity with a document of `other_size` distinct shingles, or 0 once it is
  /// certain to stay below `least`. Neither document is sorted or copied. Thread-safe.
  double similarity(std::span<const uint32_t> other, uint64_t other_size, double least) const;

 private:
  /// Where `hash` stands, or the free slot where it would.
  size_t slot_of(uint64_t hash) const;

  std::vector<uint64_t> slots_;  ///< open addressing; a hash of 0 is kept as 1: 2^-64
  uint64_t size_ = 0;            ///< distinct shingles
};

}  // namespace retro
