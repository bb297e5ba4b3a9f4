#include "index_memory.h"

#include <fmt/format.h>

#include "retro/core/progress.h"

namespace retro {
namespace {

constexpr int64_t kFloatBytes = 4;
constexpr int64_t kHalfBytes = 2;
constexpr int64_t kIdBytes = 8;
/// Arrays grow by doubling while lists are filled; those of codes keep such a size when read.
constexpr int64_t kGrowth = 2;
/// Codes lie in blocks of 32: half a block of each list is empty.
constexpr int64_t kEmptyCodes = 16;
/// Two arrays of a list.
constexpr int64_t kListBytes = 128;
/// Centroids before, after and beside an iteration of k-means.
constexpr int64_t kCentroidCopies = 3;
/// Links of a centroid in the graph: 64 on the lowest level, 32 on some others.
constexpr int64_t kGraphBytes = 300;
/// Blocks of distances of FAISS's k-means.
constexpr int64_t kTrainingBlocks = 64'000'000;
/// Candidates of an over-fetching search and its threads' blocks.
constexpr int64_t kSearchBlocks = 50'000'000;
/// A key being added: widened, rotated in place, and its residual or distance row.
constexpr int64_t kAddedCopies = 3;

int64_t list_width(const IndexPlan& plan, const IndexedKeys& keys) {
  if (plan.code_width == 0) return keys.key_width;
  return (keys.key_width + plan.code_width - 1) / plan.code_width * plan.code_width;
}

/// Four-bit codes, an even number of them.
int64_t code_bytes(const IndexPlan& plan, const IndexedKeys& keys) {
  return (list_width(plan, keys) / plan.code_width + 1) / 2;
}

int64_t value_bytes(const IndexPlan& plan, const IndexedKeys& keys) {
  if (plan.type == "ivf_pq") return code_bytes(plan, keys);
  return keys.key_width * (keys.key_storage == "float32" ? kFloatBytes : kHalfBytes);
}

int64_t centroid_bytes(const IndexPlan& plan, const IndexedKeys& keys) {
  return list_width(plan, keys) * kFloatBytes + (plan.has_graph ? kGraphBytes : 0);
}

int64_t empty_bytes(const IndexPlan& plan, const IndexedKeys& keys) {
  const int64_t spare = plan.type == "ivf_pq" ? kEmptyCodes * code_bytes(plan, keys) : 0;
  return plan.num_lists * (spare + kListBytes);
}

}  // namespace

int64_t list_entry_bytes(const IndexPlan& plan, const IndexedKeys& keys) {
  return plan.type == "exact" ? 0 : value_bytes(plan, keys) + kIdBytes;
}

MemoryNeeds training_needs(const IndexPlan& plan, const IndexedKeys& keys) {
  MemoryNeeds needs(keys.num_documents);
  needs.add("training of the index",
            kTrainingBlocks + kCentroidCopies * plan.num_lists * centroid_bytes(plan, keys));
  return needs;
}

int64_t training_point_bytes(const IndexPlan& plan, const IndexedKeys& keys) {
  constexpr int64_t kAssignmentBytes = 24;
  return list_width(plan, keys) * kFloatBytes + kAssignmentBytes;
}

MemoryNeeds filling_needs(const IndexPlan& plan, const IndexedKeys& keys) {
  MemoryNeeds needs(keys.num_documents);
  needs.add(fmt::format("lists of a shard of {} chunks", format_count(keys.largest_shard)),
            kGrowth * keys.largest_shard * list_entry_bytes(plan, keys) + empty_bytes(plan, keys) +
                plan.num_lists * centroid_bytes(plan, keys));
  return needs;
}

int64_t added_key_bytes(const IndexPlan& plan, const IndexedKeys& keys) {
  return kAddedCopies * list_width(plan, keys) * kFloatBytes;
}

MemoryNeeds searching_needs(const IndexPlan& plan, const IndexedKeys& keys) {
  MemoryNeeds needs(keys.num_documents);
  needs.add("search", kSearchBlocks);
  if (plan.type == "exact") return needs;
  const int64_t growth = plan.type == "ivf_pq" ? kGrowth : 1;
  needs.add(fmt::format("{} lists of {} chunks", plan.type, format_count(keys.num_indexed)),
            keys.num_indexed * (growth * value_bytes(plan, keys) + kIdBytes) +
                keys.num_shards * empty_bytes(plan, keys) +
                2 * plan.num_lists * centroid_bytes(plan, keys));
  return needs;
}

}  // namespace retro
