// The k best candidates seen so far, by (distance, id).
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "retro/retrieval/chunk_values.h"

namespace retro {

struct Candidate {
  float distance = 0;
  int64_t id = kMissing;
  auto operator<=>(const Candidate&) const = default;
};

/// Since (distance, id) orders candidates totally, the result does not depend on the order of
/// `add`.
class NearestList {
 public:
  explicit NearestList(int64_t k) : k_(static_cast<size_t>(k)) {}

  /// Nothing at or beyond this distance with a larger id can enter; +infinity while there is room.
  float worst_distance() const { return worst_distance_; }

  void add(Candidate candidate) {
    if (heap_.size() == k_) {
      if (k_ == 0 || !(candidate < heap_.front())) return;
      std::ranges::pop_heap(heap_);
      heap_.back() = candidate;
    } else {
      heap_.push_back(candidate);
    }
    std::ranges::push_heap(heap_);
    if (heap_.size() == k_) worst_distance_ = heap_.front().distance;
  }

  const std::vector<Candidate>& candidates() const { return heap_; }

  /// Writes the candidates in order, filled up with (kMissing, +infinity).
  void write_sorted(std::span<int64_t> ids_K, std::span<float> distances_K) {
    std::ranges::sort(heap_);
    for (size_t i = 0; i < ids_K.size(); ++i) {
      const bool is_found = i < heap_.size();
      ids_K[i] = is_found ? heap_[i].id : kMissing;
      distances_K[i] = is_found ? heap_[i].distance : std::numeric_limits<float>::infinity();
    }
  }

 private:
  size_t k_;
  float worst_distance_ = std::numeric_limits<float>::infinity();
  std::vector<Candidate> heap_;  ///< a max-heap
};

}  // namespace retro
