// Live retrieval: text in, neighbours out (sampling and `retro database query`).
#pragma once

#include <string>
#include <vector>

#include "retro/embed/chunk_embedder.h"
#include "retro/retrieval/neighbour_filter.h"

namespace retro {

struct RetrievedNeighbour {
  int64_t chunk_id = kMissing;
  float distance = 0;
};

/// Holds database, index and embedder together; refuses an embedder other than the database's.
class Retriever {
 public:
  Retriever(const RetrievalDatabase& database, const NeighbourIndex& index,
            ChunkEmbedder& embedder);
  /// For each text its k nearest chunks (fewer if the database is small; none for a text without a
  /// real piece). `is_allowed` (see search_allowed) may leave chunks out; empty: none.
  std::vector<std::vector<RetrievedNeighbour>> retrieve(std::span<const std::string> texts,
                                                        int64_t k, int num_threads = 1,
                                                        const ChunkFilter& is_allowed = {});
  const RetrievalDatabase& database() const { return *database_; }

 private:
  const RetrievalDatabase* database_;
  const NeighbourIndex* index_;
  ChunkEmbedder* embedder_;
};

}  // namespace retro
