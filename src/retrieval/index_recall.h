// How good and how fast an index is, against exact search on the same queries.
#pragma once

#include <cstdint>
#include <vector>

#include "retro/retrieval/neighbour_index.h"

namespace retro {

/// Database chunks as queries with their exact neighbours outside their own document.
class RecallSample {
 public:
  RecallSample(const RetrievalDatabase& database, std::vector<int64_t> chunks, int num_threads);

  /// Recall and time of `index` at these parameters (0: its own). Ties are not held against it: a
  /// chunk at the distance of a true neighbour counts as one.
  OperatingPoint measure(const NeighbourIndex& index, int64_t num_probes,
                         int64_t rerank_factor) const;
  int64_t num_queries() const { return static_cast<int64_t>(chunks_.size()); }
  /// Of the exact search, per thread and query.
  double exact_seconds_per_query() const { return exact_seconds_per_query_; }

 private:
  bool may_see(int64_t query, int64_t chunk_id) const;

  const RetrievalDatabase& database_;
  std::vector<int64_t> chunks_;
  std::vector<float> queries_XQ_;
  std::vector<int64_t> exact_ids_XK_;
  std::vector<float> exact_distances_XK_;
  int num_threads_;
  double exact_seconds_per_query_ = 0;
};

}  // namespace retro
