// Which index a database of a size gets within a memory budget.
#pragma once

#include <cstdint>
#include <string>

#include "retro/retrieval/memory_budget.h"
#include "retro/retrieval/neighbour_index.h"

namespace retro {

/// What is to be indexed.
struct IndexedKeys {
  int64_t num_indexed = 0;
  int64_t largest_shard = 0;  ///< chunks of it
  int64_t num_shards = 1;
  int64_t num_documents = 0;
  int64_t key_width = 0;
  std::string key_storage;
};

IndexedKeys keys_of(const RetrievalDatabase& database);

struct IndexPlan {
  std::string type;    ///< exact | ivf_flat | ivf_pq
  std::string reason;  ///< one line, begins with the type
  int64_t num_lists = 0;
  int64_t training_points = 0;
  int64_t code_width = 0;  ///< ivf_pq: features of a four-bit code
  bool has_graph = false;  ///< lists are found through HNSW
  int64_t add_block = 0;   ///< keys added at once
};

/// The simplest type that is fast at this size, or, where the budget asks for it, one that holds
/// less in memory. Never more lists than points, never more than 256 training points a list, fewer
/// where the budget says so; what cannot be trained becomes exact. Throws Error, with the least
/// that would do, for a budget that fits no index or not the one that `config` names.
IndexPlan plan_index(const IndexConfig& config, const IndexedKeys& keys,
                     const MemoryBudget& budget);

/// Bytes of a chunk in the lists: key or code, and its id.
int64_t list_entry_bytes(const IndexPlan& plan, const IndexedKeys& keys);

}  // namespace retro
