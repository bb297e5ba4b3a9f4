#include "survivor_table.h"

#include <algorithm>

namespace retro {

namespace {

constexpr size_t kFirstSlots = 1024;

}  // namespace

void SurvivorTable::add(const Entry& entry, const BandKeys& keys) {
  entries_.push_back(entry);
  keys_.push_back(keys);
  if (entries_.size() > heads_[0].size()) return rebuild(0);
  for (auto& next : next_) next.push_back(0);
  link(static_cast<uint32_t>(entries_.size() - 1));
}

void SurvivorTable::link(uint32_t entry) {
  for (size_t band = 0; band < kMinHashBands; ++band) {
    const size_t slot = keys_[entry][band] & (heads_[band].size() - 1);
    next_[band][entry] = heads_[band][slot];
    heads_[band][slot] = entry + 1;
  }
}

void SurvivorTable::rebuild(size_t first_kept) {
  const auto begin = static_cast<std::ptrdiff_t>(first_kept);
  entries_.erase(entries_.begin(), entries_.begin() + begin);
  keys_.erase(keys_.begin(), keys_.begin() + begin);
  size_t slots = kFirstSlots;
  while (slots < 2 * entries_.size()) slots *= 2;
  for (auto& heads : heads_) heads.assign(slots, 0);
  for (auto& next : next_) next.assign(entries_.size(), 0);
  for (size_t entry = 0; entry < entries_.size(); ++entry) link(static_cast<uint32_t>(entry));
}

void SurvivorTable::forget_larger(uint64_t size) {
  const auto kept = std::partition_point(entries_.begin(), entries_.end(),
                                         [size](const Entry& entry) { return entry.size > size; });
  const auto num_dead = static_cast<size_t>(kept - entries_.begin());
  if (num_dead > kFirstSlots && 2 * num_dead > entries_.size()) rebuild(num_dead);
}

std::vector<SurvivorTable::Entry> SurvivorTable::candidates(const BandKeys& keys) const {
  std::vector<uint32_t> found;
  for (size_t band = 0; band < kMinHashBands && !heads_[band].empty(); ++band) {
    const size_t slot = keys[band] & (heads_[band].size() - 1);
    for (uint32_t link = heads_[band][slot]; link != 0; link = next_[band][link - 1]) {
      if (keys_[link - 1][band] == keys[band]) found.push_back(link - 1);
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  std::vector<Entry> entries;
  for (const uint32_t entry : found) entries.push_back(entries_[entry]);
  return entries;
}

}  // namespace retro
