#include "pair_merger.h"

#include <algorithm>
#include <cstddef>
#include <queue>

namespace retro {
namespace {

using Merge = MergeTable::Merge;

constexpr size_t kLongestScanned = 48;

/// A pair that may be merged: of the piece at `left` and the one after it.
struct Candidate {
  Merge merge;
  int32_t left;
};

/// Best rank first, then leftmost.
struct IsWorse {
  bool operator()(const Candidate& a, const Candidate& b) const {
    return a.merge.rank != b.merge.rank ? a.merge.rank > b.merge.rank : a.left > b.left;
  }
};

/// A word as a chain of pieces; merging takes the right one out.
class Chain {
 public:
  Chain(const MergeTable& merges, const std::vector<int32_t>& ids) : merges_(merges) {
    const auto count = static_cast<int32_t>(ids.size());
    links_.reserve(ids.size());
    for (int32_t i = 0; i < count; ++i)
      links_.push_back({ids[static_cast<size_t>(i)], i - 1, i + 1 < count ? i + 1 : -1});
    for (int32_t i = 0; i + 1 < count; ++i) propose(i);
  }

  void merge_all() {
    while (!queue_.empty()) {
      const Candidate best = queue_.top();
      queue_.pop();
      if (is_current(best)) merge(best);
    }
  }

  void write_to(std::vector<int32_t>& ids) const {
    ids.clear();
    for (int32_t i = 0; i >= 0; i = at(i).next) ids.push_back(at(i).id);
  }

 private:
  struct Link {
    int32_t id;  ///< -1: taken out
    int32_t previous;
    int32_t next;
  };
  const Link& at(int32_t i) const { return links_[static_cast<size_t>(i)]; }
  Link& at(int32_t i) { return links_[static_cast<size_t>(i)]; }

  void propose(int32_t left) {
    if (left < 0 || at(left).next < 0) return;
    const Merge merge = merges_.find(at(left).id, at(at(left).next).id);
    if (merge.rank != MergeTable::kNone) queue_.push({merge, left});
  }

  /// False for a pair of which one piece has been merged since it was proposed.
  bool is_current(const Candidate& candidate) const {
    const Link& left = at(candidate.left);
    if (left.id < 0 || left.next < 0) return false;
    return merges_.find(left.id, at(left.next).id).rank == candidate.merge.rank;
  }

  void merge(const Candidate& candidate) {
    Link& left = at(candidate.left);
    Link& right = at(left.next);
    left.id = candidate.merge.id;
    left.next = right.next;
    right.id = -1;
    if (left.next >= 0) at(left.next).previous = candidate.left;
    propose(left.previous);
    propose(candidate.left);
  }

  const MergeTable& merges_;
  std::vector<Link> links_;
  std::priority_queue<Candidate, std::vector<Candidate>, IsWorse> queue_;
};

}  // namespace

void merge_by_scanning(const MergeTable& merges, std::vector<int32_t>& ids) {
  // pairs[i] joins ids[i] and ids[i + 1].
  thread_local std::vector<Merge> pairs;
  pairs.clear();
  for (size_t i = 0; i + 1 < ids.size(); ++i) pairs.push_back(merges.find(ids[i], ids[i + 1]));
  while (!pairs.empty()) {
    const auto best = std::min_element(
        pairs.begin(), pairs.end(), [](const Merge& a, const Merge& b) { return a.rank < b.rank; });
    if (best->rank == MergeTable::kNone) return;
    const auto i = static_cast<size_t>(best - pairs.begin());
    ids[i] = best->id;
    ids.erase(ids.begin() + static_cast<ptrdiff_t>(i) + 1);
    pairs.erase(best);
    if (i > 0) pairs[i - 1] = merges.find(ids[i - 1], ids[i]);
    if (i < pairs.size()) pairs[i] = merges.find(ids[i], ids[i + 1]);
  }
}

void merge_by_queue(const MergeTable& merges, std::vector<int32_t>& ids) {
  if (ids.empty()) return;
  Chain chain(merges, ids);
  chain.merge_all();
  chain.write_to(ids);
}

void merge_pairs(const MergeTable& merges, std::vector<int32_t>& ids) {
  if (ids.size() <= kLongestScanned) {
    merge_by_scanning(merges, ids);
  } else {
    merge_by_queue(merges, ids);
  }
}

}  // namespace retro
