// Keeps the pages of mapped files from filling a memory budget.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "retro/core/memory.h"
#include "retro/retrieval/memory_budget.h"

namespace retro {

/// Several threads may count.
class ResidentLimit {
 public:
  explicit ResidentLimit(const MemoryBudget& budget)
      : most_(budget.bytes() / 8 * 7), interval_(std::min(kLongest, budget.bytes() / 16)) {}

  /// `bytes` of mapped files were read in one piece. Calls `release`, which lets go of their pages,
  /// where the process is near its budget.
  template <class Release>
  void count(int64_t bytes, const Release& release) {
    const int64_t mapped = std::max(bytes, kMappedAtOnce);
    if (since_check_.fetch_add(mapped, std::memory_order_relaxed) + mapped < interval_) return;
    since_check_.store(0, std::memory_order_relaxed);
    if (resident_bytes() > most_) release();
  }

 private:
  /// The kernel maps so much around a page that is read (fault_around_bytes).
  static constexpr int64_t kMappedAtOnce = 1 << 16;
  static constexpr int64_t kLongest = 1 << 26;
  int64_t most_;
  int64_t interval_;
  std::atomic<int64_t> since_check_{0};
};

}  // namespace retro
