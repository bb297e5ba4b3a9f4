#include "shingle_lookup.h"

#include <algorithm>
#include <bit>

#include "shingles.h"

namespace retro {
namespace {

/// Shingles between two looks at what is still possible.
constexpr size_t kStride = 64;

uint64_t nonzero(uint64_t hash) { return std::max<uint64_t>(hash, 1); }

double jaccard_of(uint64_t common, uint64_t a, uint64_t b) {
  return static_cast<double>(common) / static_cast<double>(a + b - common);
}

}  // namespace

ShingleLookup::ShingleLookup(std::span<const uint32_t> tokens) {
  const size_t count = num_shingles(tokens.size());
  slots_.assign(std::bit_ceil(2 * count + 1), 0);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t hash = nonzero(shingle_hash(tokens, i));
    uint64_t& slot = slots_[slot_of(hash)];
    size_ += slot == 0;
    slot = hash;
  }
}

size_t ShingleLookup::slot_of(uint64_t hash) const {
  size_t slot = hash & (slots_.size() - 1);
  while (slots_[slot] != 0 && slots_[slot] != hash) slot = (slot + 1) & (slots_.size() - 1);
  return slot;
}

double ShingleLookup::similarity(std::span<const uint32_t> other, uint64_t other_size,
                                 double least) const {
  const size_t count = num_shingles(other.size());
  if (count == 0 || size_ == 0) return 0;
  std::vector<uint64_t> is_counted(slots_.size() / 64 + 1, 0);  // a bit a slot
  uint64_t common = 0;
  for (size_t begin = 0; begin < count; begin += kStride) {
    const uint64_t at_most = std::min<uint64_t>({common + (count - begin), size_, other_size});
    if (jaccard_of(at_most, size_, other_size) < least) return 0;
    for (size_t i = begin; i < std::min(count, begin + kStride); ++i) {
      const size_t slot = slot_of(nonzero(shingle_hash(other, i)));
      uint64_t& word = is_counted[slot / 64];
      const uint64_t bit = uint64_t{1} << (slot % 64);
      common += slots_[slot] != 0 && (word & bit) == 0;
      word |= bit;
    }
  }
  return jaccard_of(common, size_, other_size);
}

}  // namespace retro
