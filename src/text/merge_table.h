// The merges of a BPE model by the pair of ids they join.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace retro {

/// An open-addressing hash table: one look-up a pair and word is what encoding spends its time on.
class MergeTable {
 public:
  struct Merge {
    int32_t rank = kNone;  ///< from 0, the best
    int32_t id = -1;       ///< of the joined piece
  };
  static constexpr int32_t kNone = std::numeric_limits<int32_t>::max();

  explicit MergeTable(size_t num_merges)
      : entries_(std::bit_ceil(2 * num_merges + 2)), mask_(entries_.size() - 1) {}

  /// Of equal pairs the last one counts, as in the reference.
  void add(int32_t left, int32_t right, Merge merge) {
    const uint64_t key = key_of(left, right);
    size_t at = slot(key);
    while (entries_[at].key != kEmpty && entries_[at].key != key) at = (at + 1) & mask_;
    entries_[at] = {key, merge};
  }

  /// Rank kNone for pairs that are not merged.
  Merge find(int32_t left, int32_t right) const {
    const uint64_t key = key_of(left, right);
    for (size_t at = slot(key);; at = (at + 1) & mask_) {
      if (entries_[at].key == key) return entries_[at].merge;
      if (entries_[at].key == kEmpty) return {};
    }
  }

 private:
  static constexpr uint64_t kEmpty = ~uint64_t{0};
  struct Entry {
    uint64_t key = kEmpty;
    Merge merge;
  };
  static uint64_t key_of(int32_t left, int32_t right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  }
  size_t slot(uint64_t key) const { return (key * 0x9E3779B97F4A7C15U >> 32) & mask_; }

  std::vector<Entry> entries_;
  size_t mask_;
};

}  // namespace retro
