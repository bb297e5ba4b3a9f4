// What an index holds in memory and on disk, by its plan.
#pragma once

#include "retro/retrieval/index_plan.h"

namespace retro {

/// What training holds beside its points.
MemoryNeeds training_needs(const IndexPlan& plan, const IndexedKeys& keys);
/// Bytes of one training point.
int64_t training_point_bytes(const IndexPlan& plan, const IndexedKeys& keys);
/// Filling the largest shard, beside the keys that are added at once.
MemoryNeeds filling_needs(const IndexPlan& plan, const IndexedKeys& keys);
/// Bytes of a key while it is added.
int64_t added_key_bytes(const IndexPlan& plan, const IndexedKeys& keys);
/// All lists, and the results of an over-fetching search: what measuring recall and the neighbour
/// tables hold.
MemoryNeeds searching_needs(const IndexPlan& plan, const IndexedKeys& keys);

}  // namespace retro
