// Byte-pair merging of one word.
#pragma once

#include <cstdint>
#include <vector>

#include "merge_table.h"

namespace retro {

/// Merges neighbours in `ids`, which hold one id a byte, until no pair is in `merges`: the pair of
/// the best rank first, of equal ones the leftmost. Linear scans for short words, a queue
/// (O(n log n)) for long ones; both give the same ids.
void merge_pairs(const MergeTable& merges, std::vector<int32_t>& ids);

/// The two ways; for tests.
void merge_by_scanning(const MergeTable& merges, std::vector<int32_t>& ids);
void merge_by_queue(const MergeTable& merges, std::vector<int32_t>& ids);

}  // namespace retro
