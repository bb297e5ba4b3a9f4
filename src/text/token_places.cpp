#include "token_places.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace retro {
namespace {

constexpr size_t kSlots = 2048;
/// Multiplicative hashing is universal: with 8,192 slots a random factor separates 64 tokens more
/// often than not, with 2,048 every other time. So the table grows after some failures, never far.
constexpr int kTries = 8;

}  // namespace

void TokenPlaces::assign(std::span<const int32_t> chunk) {
  assert(chunk.size() <= kMost);
  factor_ = 2654435769u;
  for (size_t slots = std::max(kSlots, words_.size());; slots *= 2) {
    words_.resize(slots, 0);
    tokens_.resize(slots);
    shift_ = 32 - static_cast<uint32_t>(std::countr_zero(slots));
    for (int t = 0; t < kTries; ++t, factor_ = factor_ * 1664525u + 1013904224u) {
      if (place(chunk)) return;
    }
  }
}

bool TokenPlaces::place(std::span<const int32_t> chunk) {
  for (const uint32_t slot : used_) words_[slot] = 0;
  used_.clear();
  for (size_t i = 0; i < chunk.size(); ++i) {
    if (chunk[i] < 0) continue;
    const size_t slot = slot_of(chunk[i]);
    if (words_[slot] == 0) {
      used_.push_back(static_cast<uint32_t>(slot));
      tokens_[slot] = chunk[i];
    }
    if (tokens_[slot] != chunk[i]) return false;
    words_[slot] |= uint64_t{1} << i;
  }
  return true;
}

uint64_t TokenPlaces::find(std::span<const int32_t> text, uint64_t* words) const {
  uint64_t any = 0;
  for (size_t j = 0; j < text.size(); ++j) {
    const size_t slot = slot_of(text[j]);
    const uint64_t is_same = tokens_[slot] == text[j];
    words[j] = words_[slot] & (0 - is_same);
    any |= words[j];
  }
  return any;
}

uint64_t TokenPlaces::find_unchecked(std::span<const int32_t> text, uint64_t* words) const {
  const uint64_t* table = words_.data();
  const uint32_t factor = factor_;
  const uint32_t shift = shift_;
  uint64_t any = 0;
#pragma GCC unroll 4
  for (size_t j = 0; j < text.size(); ++j) {
    words[j] = table[(static_cast<uint32_t>(text[j]) * factor) >> shift];
    any |= words[j];
  }
  return any;
}

}  // namespace retro
