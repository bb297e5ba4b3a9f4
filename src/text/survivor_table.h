// Survivors of the clustering, found by the bands of their MinHash signatures.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "retro/text/minhash.h"

namespace retro {

/// Chained hash tables, one a band. Entries arrive by falling size; the largest can be forgotten.
class SurvivorTable {
 public:
  struct Entry {
    size_t profile = 0;  ///< the caller's number of the document
    uint64_t size = 0;   ///< distinct shingles
  };

  void add(const Entry& entry, const BandKeys& keys);
  /// Drops entries of more than `size` shingles, once they are the larger part.
  void forget_larger(uint64_t size);
  /// Entries that share a band with `keys`, ascending; not yet verified.
  std::vector<Entry> candidates(const BandKeys& keys) const;

 private:
  void rebuild(size_t first_kept);
  void link(uint32_t entry);

  std::vector<Entry> entries_;
  std::vector<BandKeys> keys_;
  std::array<std::vector<uint32_t>, kMinHashBands> heads_;  ///< entry + 1 of each slot, 0: none
  std::array<std::vector<uint32_t>, kMinHashBands> next_;   ///< entry + 1 that follows, 0: none
};

}  // namespace retro
